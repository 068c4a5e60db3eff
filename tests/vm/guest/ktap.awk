# SPDX-License-Identifier: GPL-2.0
#
# From the kernel log of one KUnit module to the result lines of agent.sh.
# Each test case counts once, a parameterised one too; the indentation tells
# the levels apart: 0 suite, 4 test case, 8 parameter.

function result(word, name, reason)
{
	print word " " name (reason != "" ? " # " reason : "")
}

function show_why(	i)
{
	for (i = n_why > 40 ? n_why - 40 : 0; i < n_why; i++)
		print "log " why[i]
}

function close_suite()
{
	if (suite != "")
		result("not_ok", suite, "the suite has no end: the log is cut, or the module failed half-way")
	suite = ""
}

/^    # Subtest: / {
	close_suite()
	suite = $3
	suites++
	plan = -1
	cases = 0
	n_why = 0
	next
}

suite != "" && /^    1\.\.[0-9]+/ {
	plan = substr($1, 4) + 0
	next
}

suite != "" && /^    (not )?ok [0-9]+/ {
	line = $0
	bad = line ~ /^    not ok/
	sub(/^    (not )?ok [0-9]+ (- )?/, "", line)
	reason = ""
	if (match(line, / *# /)) {
		reason = substr(line, RSTART + RLENGTH)
		line = substr(line, 1, RSTART - 1)
	}
	cases++
	if (bad) {
		result("not_ok", suite "." line, n_why ? why[0] : "see the log")
		show_why()
	} else if (reason ~ /^SKIP/) {
		sub(/^SKIP */, "", reason)
		result("skip", suite "." line, reason == "" ? "no reason given" : reason)
	} else {
		result("ok", suite "." line)
	}
	n_why = 0
	next
}

suite != "" && /^(not )?ok [0-9]+/ {
	if (plan < 0)
		result("not_ok", suite, "the suite announced no number of cases")
	else if (plan != cases)
		result("not_ok", suite, "announced " plan " cases, reported " cases)
	else if (/^not/ && !cases)
		result("not_ok", suite, "failed without a case")
	else if (!cases)
		result("not_ok", suite, "is empty")
	suite = ""
	next
}

suite != "" && !/^kdapl: / {
	line = $0
	sub(/^ */, "", line)
	if (line !~ /^(ok|# Subtest|# .*: pass:|1\.\.)/)
		why[n_why++] = line
}

END {
	close_suite()
	if (!suites)
		result("not_ok", item, "no KUnit suite in the log")
}
