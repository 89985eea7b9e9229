# SPDX-License-Identifier: Apache-2.0
#
# For tests with a source that misbehaves: after lib.sh.  The server is SERVE_FAULTS.

# What the server does: one of its words.
fault() {
	printf %s "$1" >"$work/fault.new"
	mv "$work/fault.new" "$work/fault"
}

serve() { # [FOLDER]
	fault none
	mkfifo "$work/end" "$work/port"
	"$SERVE_FAULTS" "${1:-$work/sources}" "$work/fault" <"$work/end" >"$work/port" &
	server=$!
	exec 9>"$work/end"
	read -r port <"$work/port"
	source=http://127.0.0.1:$port/
}

# Mounts with the server as source.
mount_served() {
	mount_it --container "$allow=$source" "$@"
}
