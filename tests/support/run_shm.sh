#!/usr/bin/env bash
# usage: run_shm.sh <ranks> <command …>
# Starts the command as this many ranks of one shm group, and fails if one of them does.
set -euo pipefail

ranks=$1
shift
export COBRE_SHM_NAME="run-$$" COBRE_SHM_SIZE=$ranks
started=()
for ((rank = 0; rank < ranks; ++rank)); do
  COBRE_SHM_RANK=$rank "$@" &
  started+=($!)
done
failed=0
for process in "${started[@]}"; do wait "$process" || failed=1; done
exit $failed
