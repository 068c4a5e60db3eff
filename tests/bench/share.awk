# SPDX-License-Identifier: GPL-2.0
#
# -v row= -v ops=: from counts by function to a table per operation.

{ count[NR] = $1; name[NR] = $2; sum += $1 }

END {
	printf "%s: %.1f instructions an operation, by function\n", row, sum / ops
	for (i = 1; i <= NR; i++) {
		best = 0
		for (j = 1; j <= NR; j++)
			if (!(j in shown) && (!best || count[j] > count[best]))
				best = j
		shown[best] = 1
		if (count[best] / ops < 0.05)
			break
		printf "%10.1f  %s\n", count[best] / ops, name[best]
	}
}
