# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# What the tests of the programs share: sourced first.  REFMT and REFMTFS name the programs.
#
# A test runs in an empty folder of its own.  Each check that fails is told; the test goes on and
# fails at its end.

set -u
test_folder=$(mktemp -d "${TMPDIR:-/tmp}/refmt-cli.XXXXXX")
failures=0
doing=
finish() {
	status=$?
	trap - EXIT
	cd /
	chmod -R u+w "$test_folder"
	rm -rf "$test_folder"
	[ "$failures" = 0 ] || status=1
	exit "$status"
}
trap finish EXIT
trap 'exit 130' INT TERM
cd "$test_folder" || exit 1
unset REFMT_LOG AWS_PROFILE

skip() {
	echo "SKIP: $*"
	exit 77
}

[ -x "${REFMT:-}" ] || skip "REFMT does not name a program"

fail() {
	failures=$((failures + 1))
	echo "FAILED: $doing: $*"
	sed 's/^/  stderr: /' err | head -n 40
}

# run STATUS COMMAND...: standard output is left in the file "out", standard error in "err".
run() {
	want=$1
	shift
	doing=$*
	"$@" >out 2>err </dev/null
	got=$?
	[ "$got" = "$want" ] || fail "exit status $got, not $want"
	# A sanitizer's finding must not pass for an error of the program.
	! grep -q 'Sanitizer\|runtime error:' err || fail "a sanitizer found something"
}

refmt() {
	want=$1
	shift
	run "$want" "$REFMT" "$@"
}

# fails STATUS PATTERN ARGUMENT...: refmt fails with one line that matches, and prints nothing; a
# second line may say what to do.
fails() {
	want=$1
	pattern=$2
	shift 2
	run "$want" "$REFMT" "$@"
	[ ! -s out ] || fail "it fails, and prints something all the same"
	[ "$(wc -l <err)" -le 2 ] || fail "more than an error and a hint"
	head -n 1 err | grep -Eq "$pattern" || fail "no '$pattern' in the message"
}

output_is() {
	printf '%s\n' "$1" | cmp -s - out || fail "the output is: $(head -c 500 out)"
}

output_has() {
	grep -Eq "$1" out || fail "no '$1' in the output: $(head -c 500 out)"
}
