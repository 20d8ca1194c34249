#!/usr/bin/env bash
# usage: run_tcp.sh <ranks> <command …>
# Starts the command as this many ranks over TCP on this machine, and fails if one of them does.
set -euo pipefail

ranks=$1
shift
# A port below those that the kernel hands out by itself, and free now.
port=$((20000 + $$ % 10000))
while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((20000 + (port - 19999) % 10000)); done
export COBRE_TCP_COORDINATOR="127.0.0.1:$port" COBRE_TCP_SIZE=$ranks
started=()
for ((rank = 0; rank < ranks; ++rank)); do
  COBRE_TCP_RANK=$rank "$@" &
  started+=($!)
done
failed=0
for process in "${started[@]}"; do wait "$process" || failed=1; done
exit $failed
