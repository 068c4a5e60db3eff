# SPDX-License-Identifier: GPL-2.0
#
# profile.awk symbols trace: counts the instructions between bench_begin() and
# bench_end() in qemu's trace, by function; those behind bench_kdapl() are of
# kdapl's side. Each line is raw's count, kdapl's count, and the function. Addresses are 16 hex digits, which
# compare as strings; the symbols are sorted.

FNR == NR {
	address[++count] = $1 ""
	symbol[count] = $2
	if ($2 == "bench_begin")
		begin = $1 ""
	if ($2 == "bench_end")
		end = $1 ""
	if ($2 == "bench_kdapl")
		turn = $1 ""
	next
}

function find(pc,	low, high, mid)
{
	low = 1
	high = count
	while (low < high) {
		mid = int((low + high + 1) / 2)
		if (address[mid] <= pc)
			low = mid
		else
			high = mid - 1
	}
	return symbol[low]
}

/^Trace / {
	split($0, part, "/")
	pc = part[2] ""
	if (pc == end)
		inside = 0
	if (pc == turn)
		kdapl = 1
	if (inside) {
		if (!(pc in cache))
			cache[pc] = find(pc)
		if (cache[pc] != "bench_begin") {
			used[cache[pc]]++
			ours[cache[pc]] += kdapl
		}
	}
	if (pc == begin)
		inside = 1
}

END {
	for (s in used)
		print used[s] - ours[s], ours[s], s
}
