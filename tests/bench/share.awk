# SPDX-License-Identifier: GPL-2.0
#
# -v row= -v raws= -v ops=: from counts by function to a table per operation, those
# first that kdapl adds most to. Rows without a side on raw verbs have raws=0.

function per(count, n)
{
	return n ? count / n : 0
}

{
	raw[NR] = per($1, raws)
	kdapl[NR] = per($2, ops)
	name[NR] = $3
	raw_sum += raw[NR]
	sum += kdapl[NR]
}

END {
	printf "%s: instructions an operation, by function\n", row
	printf "%9s %9s %9s\n", "raw", "kdapl", "differs"
	printf "%9.1f %9.1f %9.1f  %s\n", raw_sum, sum, sum - raw_sum, "all"
	for (i = 1; i <= NR; i++) {
		best = 0
		for (j = 1; j <= NR; j++)
			if (!(j in shown) && (!best || kdapl[j] - raw[j] > kdapl[best] - raw[best]))
				best = j
		shown[best] = 1
		if (kdapl[best] >= 0.05 || raw[best] >= 0.05)
			printf "%9.1f %9.1f %9.1f  %s\n", raw[best], kdapl[best],
				kdapl[best] - raw[best], name[best]
	}
}
