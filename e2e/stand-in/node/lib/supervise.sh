# shellcheck shell=bash disable=SC2154 # the parts share their variables
# Runs components in the background and starts them again when they end, as an init system does.

# supervise NAME COMMAND...: the log is $logs/NAME.log.
supervise() {
  local name=$1
  shift
  {
    set +e
    while :; do
      "$@"
      echo "[stand-in] $name ended with status $?; starting it again"
      sleep 0.3
    done
  } >>"$logs/$name.log" 2>&1 </dev/null &
}

# wait_until SECONDS WHAT LOG COMMAND...: repeats a command until it succeeds.
wait_until() {
  local deadline=$((SECONDS + $1)) what=$2 log=$3
  shift 3
  until "$@" >/dev/null 2>&1; do
    if [ $SECONDS -ge $deadline ]; then
      echo "--- the end of $logs/$log.log:" >&2
      tail -n 30 "$logs/$log.log" >&2 || true
      fail "gave up waiting for $what"
    fi
    sleep 0.1
  done
}
