#!/usr/bin/env python3
"""Runs the command of an MPI launcher, and starts it again where the library lost a rank before any code of ours ran.

usage: launch_watched.py [--patience SECONDS] launcher argument …

PMIx before May 2023 may lose the first answer that a rank waits for (openpmix issue 2967; Debian 12 has 4.2.2): one start
of four ranks in some thousands never returns from MPI_Init. Such a rank is told from every other that hangs: it has
connected to PMIx, it has not come as far as loading a transport, and it does nothing at all. Whatever else hangs is left
to hang, but says shortly before the time-out of the test what each of its processes was doing.
"""
import argparse
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import own_mpi_directory  # noqa: F401

STARTS = 3
REPORT_AFTER = 110.0  # tests under MPI have 120 s
TICKS = os.sysconf("SC_CLK_TCK")


def read(pid, name):
    """A file of /proc; nothing where the process is gone."""
    try:
        return Path("/proc", str(pid), name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def descendants(pid):
    found = [int(child) for child in read(pid, f"task/{pid}/children").split()]
    return found + [later for child in found for later in descendants(child)]


def cpu_seconds(pid):
    fields = read(pid, "stat").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def is_before_transports(pid):
    maps = read(pid, "maps")
    return "libpmix" in maps and "mca_btl_" not in maps and "mca_pml_" not in maps and "mpirun" not in read(pid, "comm")


def report(launcher):
    for pid in [launcher.pid, *descendants(launcher.pid)]:
        state = read(pid, "stat").rpartition(")")[2].split()[:1]
        waits = [read(pid, f"task/{task}/wchan") or "-" for task in sorted(os.listdir(f"/proc/{pid}/task"))]
        print(f"launch_watched: process {pid} ({read(pid, 'comm').strip()}): state {''.join(state)}, {cpu_seconds(pid):.2f} s of "
              f"CPU time, its threads in {', '.join(waits)}", file=sys.stderr, flush=True)


class Rest:
    """How long each rank that has no transport yet has done nothing."""

    def __init__(self):
        self.since = {}

    def longest(self, pids):
        now, before, self.since = time.monotonic(), self.since, {}
        for pid in filter(is_before_transports, pids):
            used = cpu_seconds(pid)
            last, begin = before.get(pid, (used, now))
            self.since[pid] = (used, begin if used == last else now)
        return max(((now - begin, pid) for pid, (_, begin) in self.since.items()), default=(0.0, None))


def handle_of(pid):
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


def end(launcher):
    """Asks the launcher, which ends its ranks; then whatever is left, by handles that mean no later process."""
    handles = [handle for handle in map(handle_of, descendants(launcher.pid)) if handle is not None]
    launcher.send_signal(signal.SIGTERM)
    try:
        launcher.wait(timeout=10)
    except subprocess.TimeoutExpired:
        launcher.kill()
        launcher.wait()
    for handle in handles:
        try:
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(handle)


def run_once(command, patience, may_start_again):
    """The launcher's exit code, or None where it lost a rank."""
    launcher, rest, begin, reported = subprocess.Popen(command), Rest(), time.monotonic(), False
    signal.signal(signal.SIGTERM, lambda *_: launcher.send_signal(signal.SIGTERM))
    ended = os.pidfd_open(launcher.pid)
    while True:
        if select.select([ended], [], [], 1)[0]:
            return launcher.wait()
        idle, pid = rest.longest(descendants(launcher.pid))
        if idle > patience and may_start_again:
            print(f"launch_watched: process {pid} came into MPI_Init and has done nothing for {idle:.0f} s (openpmix issue 2967); "
                  "the job is started again", file=sys.stderr, flush=True)
            end(launcher)
            return None
        if time.monotonic() - begin > REPORT_AFTER and not reported:
            report(launcher)
            reported = True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--patience", type=float, default=10.0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    for start in range(STARTS):
        code = run_once(arguments.command, arguments.patience, start + 1 < STARTS)
        if code is not None:
            return code if code >= 0 else 128 - code
    return 1


if __name__ == "__main__":
    sys.exit(main())
