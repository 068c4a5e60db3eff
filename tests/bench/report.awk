# SPDX-License-Identifier: GPL-2.0
#
# From what kdapl_bench said to the table, and to the file -v json=. The exit
# status is 1 if a budget does not hold.

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

/^budget / { order[n++] = $2; budget[$2] = $3; work[$2] = rest(4); next }
/^cost / { cost[$2, $3] = $4; low[$2, $3] = $5; high[$2, $3] = $6; next }
/^wake / { wake[w++] = $0; next }
/^fact / { fact[f++] = $2; value[$2] = $3; what[$2] = rest(4); next }

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
		bad += !ok
		printf "%-46s %8s %8s %8s %8s %6.2f%%  %s\n", work[row],
			have ? number(cost[row, "raw"]) : "-", number(mine),
			have ? number(mine - cost[row, "raw"]) : "-",
			number(budget[row]),
			mine ? 100 * (high[row, "kdapl"] - low[row, "kdapl"]) / mine : 0,
			ok ? "ok" : "TOO MUCH"
		printf "%s\n    {\"row\": \"%s\", \"raw\": %s, \"kdapl\": %.2f, \"least\": %.2f, \"most\": %.2f, \"budget\": %d, \"ok\": %s}",
			i ? "," : "", row, have ? sprintf("%.2f", cost[row, "raw"] / 100) : "null",
			mine / 100, low[row, "kdapl"] / 100, high[row, "kdapl"] / 100,
			budget[row] / 100, ok ? "true" : "false" >json
	}
	printf "\n  ],\n  \"wake\": [" >json
	if (w)
		printf "\n%-46s %8s %8s %8s\n", "for 1,000 completions, in bursts of",
			"upcalls", "switches", "racing"
	name["busy"] = "-EBUSY (kdapl)"
	name["again"] = "arm, then dequeue once more"
	name["upcall"] = "the upcall polls everything"
	for (i = 0; i < w; i++) {
		split(wake[i], p, " ")
		printf "%-42s %3d %8d %8d %8d\n", name[p[2]], p[3], p[4], p[5], p[6]
		printf "%s\n    {\"form\": \"%s\", \"burst\": %d, \"upcalls\": %d, \"switches\": %d, \"racing\": %d}",
			i ? "," : "", p[2], p[3], p[4], p[5], p[6] >json
	}
	printf "\n  ],\n  \"facts\": {" >json
	if (f)
		print ""
	for (i = 0; i < f; i++) {
		printf "%10d  %s\n", value[fact[i]], what[fact[i]]
		printf "%s\n    \"%s\": %d", i ? "," : "", fact[i], value[fact[i]] >json
	}
	printf "\n  }\n}\n" >json
	print ""
	if (!n) {
		print "there are no figures"
		exit 1
	}
	print bad ? bad " of " n " budgets do not hold" : "all " n " budgets hold"
	exit bad != 0
}
