# shellcheck shell=bash
# Sourced. Shows the steps of a long command, a line each, and counts the seconds of the one that runs. All other output goes to a log,
# whose end is shown if the command fails.

# The line after which no step is shown.
progress_last=$'\4'

# progress_begin LOG: from here on, stdout and stderr are the log. `step` and programs that get TRANCHE_STEPS write lines of steps.
progress_begin() {
  progress_log=$1
  mkdir -p "$(dirname "$progress_log")"
  : >"$progress_log"
  progress_folder=$(mktemp -d)
  mkfifo "$progress_folder/steps"
  progress_show <"$progress_folder/steps" >&2 &
  progress_shower=$!
  # shellcheck disable=SC2154 # prepare.sh sets it.
  export TRANCHE_STEPS=$progress_folder/steps TRANCHE_STARTED_S=$(($(date +%s) - SECONDS + started))
  exec 3>"$TRANCHE_STEPS" 4>&1 5>&2 >>"$progress_log" 2>&1
  trap progress_failed EXIT
}

# progress_end: shows the last step as done. stdout and stderr are what they were.
progress_end() {
  # Processes that still run may have the steps open, so their end is a line. Who shows them may have been killed.
  (trap '' PIPE && echo "$progress_last" >&3) 2>/dev/null || true
  exec 3>&- 1>&4 2>&5 4>&- 5>&-
  unset TRANCHE_STEPS
  wait "$progress_shower" || true
  rm -rf "$progress_folder"
  trap - EXIT
}

progress_failed() {
  local status=$?
  progress_end
  echo "error: it ended with status $status. The end of the log:" >&2
  tail -n 15 "$progress_log" | sed 's/^/  /' >&2
  echo "The whole log: $progress_log" >&2
  exit "$status"
}

# progress_show: reads steps and shows them. Where nobody watches, a line is written as its step begins, and no seconds are counted.
progress_show() {
  local line='' part shown='' since=0 status
  # Ctrl-C ends the command, whose last words are still to be shown.
  trap '' INT
  while :; do
    status=0
    IFS= read -r -t 1 part || status=$?
    line+=$part
    [ "$line" != "$progress_last" ] || status=1
    if [ ! -t 2 ]; then
      [ "$status" != 0 ] || printf '%s\n' "$line"
    elif [ "$status" -gt 128 ]; then
      [ -z "$shown" ] || printf '\r\033[K%s … %d s' "$shown" $((SECONDS - since))
    else
      [ -z "$shown" ] || printf '\r\033[K%s (%d s)\n' "$shown" $((SECONDS - since))
      [ "$status" != 0 ] || { printf '%s' "$line"; shown=$line since=$SECONDS; }
    fi
    [ "$status" = 0 ] || [ "$status" -gt 128 ] || break
    # The rest of a step may come later than its beginning.
    [ "$status" -gt 128 ] || line=''
  done
}
