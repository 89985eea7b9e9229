# SPDX-License-Identifier: Apache-2.0
#
# For tests of the mount: a small repository in $work, and a clean end.  Programs come from REFMT,
# REFMTFS and MAKE_SMALL_REPOSITORY.
set -eu

skip() {
	echo "SKIP: $*"
	exit 77
}

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

same() { # WANT GOT WHAT
	[ "$1" = "$2" ] || fail "$3: '$2' instead of '$1'"
}

if [ ! -r /dev/fuse ] || [ ! -w /dev/fuse ]; then
	skip "no /dev/fuse that can be opened"
fi
if [ "$(id -u)" != 0 ] && ! command -v fusermount3 >/dev/null; then
	skip "no fusermount3, and not root"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/refmt-fuse.XXXXXX")
mnt=$work/mnt
allow=file://$work/sources/

cleanup() {
	status=$?
	trap - EXIT
	cd /
	# What the programs said is why a step failed that says nothing itself.
	[ $status = 0 ] || [ $status = 77 ] || [ ! -s "$work/said" ] || cat "$work/said" >&2
	n=0
	while mountpoint -q "$mnt" || [ "$(stat "$mnt" 2>&1 | grep -c connected)" != 0 ]; do
		fusermount3 -u -z "$mnt" 2>/dev/null || umount -l "$mnt" 2>/dev/null || true
		n=$((n + 1))
		[ $n -lt 20 ] || break
	done
	# What still runs here ends with its mount.
	n=0
	while pgrep -r S,R,D -f "^[^ ]*refmtfs .*$mnt" >/dev/null && [ $n -lt 50 ]; do
		n=$((n + 1))
		sleep 0.1
	done
	rm -rf --one-file-system "$work"
	exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

mkdir "$mnt"
"$MAKE_SMALL_REPOSITORY" "$work"

# Mounts in the background with more options; whatever it says goes to $work/said.
mount_it() {
	"$REFMTFS" "$work/repository" "$mnt" --allow "$allow" "$@" 2>>"$work/said"
}

# Number of the supervisor that serves the mount.
supervisor() {
	pgrep -r S,R,D -o -f "^[^ ]*refmtfs .*$mnt"
}

# Number of the daemon below it.
daemon() {
	pgrep -o -P "$(supervisor)"
}

# Waits until $1, a command line, succeeds; fails after $2 tenths of a second.
until_true() {
	n=0
	until eval "$1"; do
		n=$((n + 1))
		[ $n -lt "$2" ] || fail "not within $2 tenths of a second: $1"
		sleep 0.1
	done
}

# Has process $1 ended?  Whoever should reap it may be slow.
gone() {
	! kill -0 "$1" 2>/dev/null || grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null
}

# Is something mounted, alive or dead?
is_mounted() {
	grep -q " $mnt " /proc/self/mountinfo
}

unmount_it() {
	pid=$(supervisor)
	kill -TERM "$pid"
	until_true "gone $pid" 100
	! is_mounted || fail "still mounted"
}

# Ends the mount, and fails if that takes longer than it may.
unmount_in_time() {
	before=$(date +%s%N)
	kill -TERM "$(supervisor)"
	until_true "! is_mounted" 100
	after=$(date +%s%N)
	[ $(((after - before) / 1000000)) -lt "${UNMOUNT_LIMIT_MS:-2000}" ] ||
		fail "unmounting took $(((after - before) / 1000000)) ms"
}
