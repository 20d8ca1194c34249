"""shm beside Open MPI and MPICH on this machine, and beside what the hardware can do.

usage: compare.py FOLDER [--ranks N …] [--rounds N] [--effort X] [--json FILE]

FOLDER holds the programs. Every round runs ours and each peer at MPI_THREAD_SINGLE and MPI_THREAD_MULTIPLE, one after
another; each program reports the median over batches of the slowest rank, with rotated buffers and checked data. What
counts is the median over the rounds, and of a peer the faster of its two thread levels. A ratio above 1 means that we
are faster than the fastest peer; the bar is what we promise, and a cell below it is marked.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

# Ratios promised for two ranks on two cores, by operation and by column.
BARS = {
    "barrier": [2.2],
    "allreduce": [2.8, 2.2, 1.6, 1.7, 1.5, 2.4],
    "broadcast": [1.4, 1.7, 1.4, 1.4, 1.7, 1.7],
    "allgatherv": [1.9, 2.0, 1.3, 1.0, 1.0, 1.0],
}


def bar_for(operation, column, ranks):
    if ranks == 2:
        return BARS[operation][column]
    return 1.5 if operation in ("barrier", "allreduce") else 1.0


def programs(folder, ranks, effort):
    """Name of the contestant, and the command that measures it."""
    yield "shm", [folder / "bench_shm", ranks, effort]
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
            yield f"{name}, {level}", command + [level, effort]


def measure(command, limit):
    """{(operation, bytes): microseconds}; nothing where the program does not end in time."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {}
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    rows = (line.split() for line in done.stdout.splitlines())
    return {(row[0], int(row[1])): float(row[2]) for row in rows if len(row) == 3}


def compare(folder, ranks, rounds, effort):
    samples = {}
    for round_number in range(rounds):
        for name, command in programs(folder, ranks, effort):
            print(f"\r{ranks} ranks, round {round_number + 1} of {rounds}: {name:<20}", end="", file=sys.stderr)
            for key, value in measure(command, 120).items():
                samples.setdefault(key, {}).setdefault(name, []).append(value)
    print("\r" + " " * 60 + "\r", end="", file=sys.stderr)
    return {key: {name: statistics.median(values) for name, values in by_name.items()}
            for key, by_name in samples.items()}


def print_table(results, ranks):
    """One line a cell; returns how many are below their bar."""
    print(f"\n{ranks} ranks, microseconds (median of the slowest rank)")
    print(f"{'operation':<12}{'bytes':>10}{'shm':>11}{'Open MPI':>11}{'MPICH':>11}{'ratio':>8}{'bar':>6}")
    below, columns = 0, {}
    for (operation, size), times in sorted(results.items(), key=lambda item: (list(BARS).index(item[0][0]), item[0][1])):
        column = columns.setdefault(operation, 0)
        columns[operation] += 1
        peers = {}
        for name, value in times.items():
            peer = name.split(",")[0]
            peers[peer] = min(value, peers.get(peer, value))
        ours = peers.pop("shm")
        if not peers:
            continue
        ratio, bar = min(peers.values()) / ours, bar_for(operation, column, ranks)
        below += ratio < bar
        cells = "".join(f"{peers[p]:11.2f}" if p in peers else f"{'-':>11}" for p in ("Open MPI", "MPICH"))
        print(f"{operation:<12}{size:>10}{ours:11.2f}{cells}{ratio:8.2f}{bar:6.1f}{'  below' if ratio < bar else ''}")
    return below


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--effort", type=float, default=1.0, help="more calls a batch, less noise")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()

    print("What the hardware does, microseconds")
    print(subprocess.run([arguments.folder / "bench_shm_limits"], check=True, capture_output=True, text=True).stdout)
    everything = {}
    for ranks in arguments.ranks:
        everything[ranks] = compare(arguments.folder, ranks, arguments.rounds, arguments.effort)
        below = print_table(everything[ranks], ranks)
        print(f"{below} of {len(everything[ranks])} cells below their bar")
    if arguments.json:
        records = [{"ranks": ranks, "op": op, "bytes": size, "median_us": times}
                   for ranks, cells in everything.items() for (op, size), times in cells.items()]
        arguments.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")


main()
