# SPDX-License-Identifier: GPL-2.0
#
# Whether the figures of several boots agree within 0.1 %.

/^cost / {
	key = $2 " " $3
	if (!(key in least) || $4 + 0 < least[key])
		least[key] = $4 + 0
	if ($4 + 0 > most[key])
		most[key] = $4 + 0
}

END {
	for (key in least) {
		apart = least[key] ? 100 * (most[key] - least[key]) / least[key] : 0
		if (apart > worst) {
			worst = apart
			which = key
		}
	}
	printf "boots differ by %.3f %% at most%s\n", worst,
		which != "" ? " (" which ")" : ""
	exit worst > 0.1
}
