# SPDX-License-Identifier: GPL-2.0
#
# From what kdapl_bench said to the table, and to the file -v json=. The exit
# status is 1 if a budget does not hold. One that is known not to be met counts as
# skipped, as long as it is not missed by more than is known.

function number(x)
{
	return x >= 100000 ? sprintf("%d", x / 100 + 0.5) : sprintf("%.1f", x / 100)
}

function rest(from,	i, s)
{
	for (i = from; i <= NF; i++)
		s = s (s == "" ? "" : " ") $i
	return s
}

{ sub(/\r$/, "") }

/^budget / { order[n++] = $2; budget[$2] = $3; most[$2] = $4; work[$2] = rest(5); next }
/^cost / { cost[$2, $3] = $4; low[$2, $3] = $5; high[$2, $3] = $6; next }
/^wake / { wake[w++] = $0; next }
/^fact / {
	fact[f++] = $2
	value[$2] = $3
	low[$2, "fact"] = $4
	high[$2, "fact"] = $5
	budget[$2] = $6
	what[$2] = rest(7)
	next
}

END {
	printf "%-46s %8s %8s %8s %8s %7s  %s\n", "guest instructions", "raw",
		"kdapl", "differs", "budget", "spread", ""
	printf "{\n  \"rows\": [" >json
	for (i = 0; i < n; i++) {
		row = order[i]
		have = (row, "raw") in cost
		mine = cost[row, "kdapl"]
		if (mine == "") {
			print "no figure for " row
			bad = 1
			continue
		}
		ok = mine <= budget[row]
		missed = !ok && mine <= most[row]
		known += missed
		bad += !ok && !missed
		printf "%-46s %8s %8s %8s %8s %6.2f%%  %s\n", work[row],
			have ? number(cost[row, "raw"]) : "-", number(mine),
			have ? number(mine - cost[row, "raw"]) : "-",
			number(budget[row]),
			mine ? 100 * (high[row, "kdapl"] - low[row, "kdapl"]) / mine : 0,
			ok ? "ok" : missed ? "missed, as known" : "TOO MUCH"
		printf "%s\n    {\"row\": \"%s\", \"raw\": %s, \"kdapl\": %.2f, \"least\": %.2f, \"most\": %.2f, \"budget\": %d, \"ok\": %s}",
			i ? "," : "", row, have ? sprintf("%.2f", cost[row, "raw"] / 100) : "null",
			mine / 100, low[row, "kdapl"] / 100, high[row, "kdapl"] / 100,
			budget[row] / 100, ok ? "true" : "false" >json
	}
	printf "\n  ],\n  \"wake\": [" >json
	if (w)
		printf "\n%-46s %8s %8s %8s %7s\n", "for 1,000 completions, in bursts of",
			"upcalls", "switches", "racing", "spread"
	name["busy"] = "-EBUSY (kdapl)"
	name["again"] = "arm, then dequeue once more"
	name["upcall"] = "the upcall polls everything"
	for (i = 0; i < w; i++) {
		split(wake[i], p, " ")
		# Of upcalls and switches together.
		apart = p[6] + p[9] - p[5] - p[8]
		printf "%-42s %3d %8d %8d %8d %6.2f%%\n", name[p[2]], p[3], p[4], p[7], p[10],
			p[4] + p[7] ? 100 * apart / (p[4] + p[7]) : 0
		printf "%s\n    {\"form\": \"%s\", \"burst\": %d, \"upcalls\": %d, \"switches\": %d, \"racing\": %d}",
			i ? "," : "", p[2], p[3], p[4], p[7], p[10] >json
	}
	printf "\n  ],\n  \"facts\": [" >json
	if (f)
		printf "\n%-64s %8s %7s\n", "", "budget", "spread"
	for (i = 0; i < f; i++) {
		row = fact[i]
		ok = !budget[row] || value[row] <= budget[row]
		bad += !ok
		total += budget[row] > 0
		printf "%9d  %-53s %8s %6.2f%%  %s\n", value[row], what[row],
			budget[row] ? budget[row] : "-",
			value[row] ? 100 * (high[row, "fact"] - low[row, "fact"]) / value[row] : 0,
			!budget[row] ? "" : ok ? "ok" : "TOO MUCH"
		printf "%s\n    {\"fact\": \"%s\", \"value\": %d, \"least\": %d, \"most\": %d, \"budget\": %s, \"ok\": %s}",
			i ? "," : "", row, value[row], low[row, "fact"], high[row, "fact"],
			budget[row] ? budget[row] : "null", ok ? "true" : "false" >json
	}
	printf "\n  ]\n}\n" >json
	print ""
	if (!n) {
		print "there are no figures"
		exit 1
	}
	total += n
	# The last line is the one that .ci/run adds up.
	printf "%d passed, %d failed%s\n", total - bad - known, bad,
		known ? sprintf(", %d skipped", known) : ""
	exit bad != 0
}
