# shellcheck shell=bash
# Sourced. Shows the steps of a long command, a line each. All other output goes to a log, whose end is shown if the command fails.

# progress_begin LOG: from here on, stdout and stderr are the log. `step` and programs that get TRANCHE_STEPS add lines of steps.
progress_begin() {
  progress_log=$1
  mkdir -p "$(dirname "$progress_log")"
  : >"$progress_log"
  # Appending, since programs open a file that these are anew: what is written later must not replace their lines.
  exec 3>>/dev/stdout 4>>/dev/stderr >>"$progress_log" 2>&1
  # shellcheck disable=SC2154 # prepare.sh sets it.
  export TRANCHE_STEPS=/proc/$$/fd/4 TRANCHE_STARTED_S=$(($(date +%s) - SECONDS + started))
  trap progress_failed EXIT
}

# progress_end: stdout and stderr are what they were.
progress_end() {
  exec 1>&3 2>&4 3>&- 4>&-
  unset TRANCHE_STEPS
  trap - EXIT
}

progress_failed() {
  local status=$?
  progress_end
  [ -z "${beside:-}" ] || kill -- "-$beside" 2>/dev/null || true
  echo "error: it ended with status $status. The end of the log:" >&2
  tail -n 15 "$progress_log" | sed 's/^/  /' >&2
  echo "The whole log: $progress_log" >&2
  exit "$status"
}
