#!/usr/bin/env bash
# usage: by_arguments.sh <backend> <program>
# Tells a rank by its arguments what its launcher has said in the environment, and leaves only nonsense there: who reads
# a variable of ours fails.
set -euo pipefail

backend=$1 program=$2
words=("$backend")
case $backend in
  shm) words+=("$COBRE_SHM_NAME" "$COBRE_SHM_RANK" "$COBRE_SHM_SIZE") ;;
  tcp) words+=("$COBRE_TCP_COORDINATOR" "$COBRE_TCP_RANK" "$COBRE_TCP_SIZE") ;;
esac
for name in COMM_BACKEND COMM_TIMEOUT_SECS COMM_CHECK SHM_NAME SHM_RANK SHM_SIZE TCP_COORDINATOR TCP_RANK TCP_SIZE; do
  export "COBRE_$name=nonsense"
done
exec "$program" "${words[@]}"
