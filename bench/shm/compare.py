"""shm beside Open MPI and MPICH on this machine, and beside what the hardware can do.

usage: compare.py FOLDER [--ranks N …] [--operations NAME …] [--rounds N] [--effort X] [--json FILE]

FOLDER holds the programs. One operation after the other, in rounds: in every round ours and each peer at
MPI_THREAD_SINGLE and at MPI_THREAD_MULTIPLE measure all sizes, so that what the machine does meanwhile hits all of them.
A program reports the median over batches of the slowest rank, with rotated buffers and checked data. What counts is the
median over the rounds, and of the peers the fastest. A ratio above 1 means that we are faster than that; the bar is what
we promise, and a cell below it is marked. Where the bar is 1.0, `noise` marks a cell that the spread of its own rounds
could carry to the other side.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

# Ratios promised where every rank has a core, by operation and by size.
SIZES = [8, 1024, 16384, 262144, 3276800, 33554432]
BARS = {
    "barrier": {0: 2.2},
    "allreduce": dict(zip(SIZES, [2.8, 2.2, 1.6, 1.7, 1.5, 2.4])),
    "broadcast": dict(zip(SIZES, [1.4, 1.7, 1.4, 1.4, 1.7, 1.7])),
    "allgatherv": dict(zip([32] + SIZES[1:], [1.9, 2.0, 1.3, 1.0, 1.0, 1.0])),
    "regions": {SIZES[-1]: 4.0},  # allreduce of buffers that lie in shared regions; the peers' lie where they like
}
# And where ranks outnumber cores, at every size.
CROWDED_BARS = {"barrier": 1.5, "allreduce": 1.5, "broadcast": 1.0, "allgatherv": 1.0}
PEERS = ("Open MPI", "MPICH")


def contestants(folder, ranks):
    """The command of each, which takes the effort and the operation."""
    commands = {"shm": [folder / "bench_shm", ranks]}
    launchers = {
        "Open MPI": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", ranks,
                     folder / "bench_shm_peer_openmpi"],
        "MPICH": ["mpiexec.mpich", "-n", ranks, folder / "bench_shm_peer_mpich"],
    }
    for name, command in launchers.items():
        if not shutil.which(command[0]) or not Path(command[-1]).exists():
            print(f"{name} is not here and is left out", file=sys.stderr)
            continue
        for level in ("single", "multiple"):
            commands[f"{name}, {level}"] = command + [level]
    return commands


def measure(command, limit=120):
    """{bytes: microseconds}; nothing where the program does not end in time."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    rows = (line.split() for line in done.stdout.splitlines())
    return {int(row[1]): float(row[2]) for row in rows if len(row) == 3}


def compare(folder, ranks, operation, rounds, effort):
    """{bytes: {contestant: [microseconds of each round]}}"""
    samples = {}
    for turn in range(rounds):
        for name, command in contestants(folder, ranks).items():
            print(f"\r{ranks} ranks, {operation}, round {turn + 1} of {rounds}: {name:<20}", end="", file=sys.stderr)
            asked = "allreduce" if operation == "regions" and name != "shm" else operation
            for size, value in measure(command + [effort, asked]).items():
                samples.setdefault(size, {}).setdefault(name, []).append(value)
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    return samples


def limit_beside(limits, operation, size):
    """What each of two ranks must do at least, where that can be said."""
    if operation == "barrier":
        return f"flags {limits[('flag_exchange', 0)]:.3f}"
    if ("memcpy", size) not in limits:
        return ""
    names = {"allreduce": ["add"], "regions": ["add"], "broadcast": ["memcpy", "readv"], "allgatherv": ["memcpy"]}
    return ", ".join(f"{name} {limits[(name, size)]:.2f}" for name in names[operation])


def print_row(operation, size, times, bar, beside):
    """One cell; whether it is below its bar."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    ours = medians.pop("shm", None)
    best = {peer: min((m for name, m in medians.items() if name.startswith(peer)), default=None) for peer in PEERS}
    known = [value for value in best.values() if value is not None]
    if ours is None or not known:
        print(f"{operation:<12}{size:>10}  not measured")
        return True
    ratio = min(known) / ours
    noise = (max(times["shm"]) - min(times["shm"])) / ours
    mark = "" if ratio >= bar else "  noise" if bar == 1.0 and ratio + noise >= bar else "  below"
    cells = "".join(f"{value:11.2f}" if value is not None else f"{'-':>11}" for value in best.values())
    print(f"{operation:<12}{size:>10}{ours:11.2f}{cells}{ratio:8.2f}{bar:6.1f}{mark:<7}  {beside}", flush=True)
    return mark == "  below"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=lambda name: Path(name).resolve())
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--operations", nargs="+", choices=list(BARS), default=list(BARS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--effort", type=float, default=0.5, help="more calls a batch, less noise")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    cpus = len(os.sched_getaffinity(0))
    hardware = subprocess.run([arguments.folder / "bench_shm_limits"], check=True, capture_output=True, text=True).stdout
    limits = {(row[0], int(row[1])): float(row[2]) for row in map(str.split, hardware.splitlines())}
    records = []
    for ranks in arguments.ranks:
        crowded = ranks > cpus
        print(f"\n{ranks} ranks on {cpus} cores, microseconds (median of the slowest rank)")
        print(f"{'operation':<12}{'bytes':>10}{'shm':>11}{'Open MPI':>11}{'MPICH':>11}{'ratio':>8}{'bar':>6}         "
              f"{'' if crowded else 'one core alone needs'}")
        below = []
        for operation in arguments.operations:
            if crowded and operation not in CROWDED_BARS:
                continue
            samples = compare(arguments.folder, ranks, operation, arguments.rounds, arguments.effort)
            for size, times in sorted(samples.items()):
                if size not in BARS[operation]:
                    continue
                bar = CROWDED_BARS[operation] if crowded else BARS[operation][size]
                below.append(print_row(operation, size, times, bar,
                                       "" if crowded else limit_beside(limits, operation, size)))
                records.append({"ranks": ranks, "op": operation, "bytes": size, "us": times})
        print(f"{sum(below)} of {len(below)} cells below their bar", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


main()
