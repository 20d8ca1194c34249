"""The comparison of a backend with its peers on this machine, shared by the compare.py of each backend.

One operation after the other, in rounds: in every round each contestant measures all sizes, so that what the machine
does meanwhile hits all of them. A program reports the median over batches of the slowest rank, with rotated buffers and
checked data. What counts is the median over the rounds, and of a peer that runs in several ways the fastest. A ratio
above 1 means that we are faster; the bar is what we promise, and a cell below it is marked. Shown are ratio and bar of
the peer that comes closest. Where the bar is at most 1, `noise` marks a cell that the spread of its own rounds could
carry to the other side.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

SIZES = [8, 1024, 16384, 262144, 3276800, 33554432]
GATHERED_SIZES = [32] + SIZES[1:]


@dataclass
class Contest:
    """Who runs against whom, and what we promise."""

    ours: str
    peers: tuple[str, ...]
    contestants: object  # (folder, ranks) -> {name: command}; a command takes the effort and the operation
    bars: dict  # operation -> {bytes: ratio, or {peer: ratio}}, where every rank has a core
    crowded_bars: dict  # operation -> ratio, where ranks outnumber cores
    title: str = ""
    beside: object = lambda operation, size: ""  # what else is to be seen in a row
    substitutes: dict = field(default_factory=dict)  # operation of ours -> the operation that peers have instead


def mpi_libraries(folder, ranks, options=None):
    """The commands of the MPI libraries that are here, at both thread levels. `options`: more words for a launcher."""
    launchers = {
        "Open MPI": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", ranks],
        "MPICH": ["mpiexec.mpich", "-n", ranks],
    }
    commands = {}
    for name, launcher in launchers.items():
        program = folder / "collectives" / ("bench_peer_" + name.lower().replace(" ", ""))
        if options is not None and name not in options:
            continue
        if not shutil.which(launcher[0]) or not program.exists():
            print(f"{name} is not here and is left out", file=sys.stderr)
            continue
        for level in ("single", "multiple"):
            commands[f"{name}, {level}"] = launcher + (options or {}).get(name, []) + [program, level]
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


def compare(contest, folder, ranks, operation, rounds, effort):
    """{bytes: {contestant: [microseconds of each round]}}"""
    samples = {}
    for turn in range(rounds):
        for name, command in contest.contestants(folder, ranks).items():
            print(f"\r{ranks} ranks, {operation}, round {turn + 1} of {rounds}: {name:<20}", end="", file=sys.stderr)
            asked = operation if name == contest.ours else contest.substitutes.get(operation, operation)
            for size, value in measure(command + [effort, asked]).items():
                samples.setdefault(size, {}).setdefault(name, []).append(value)
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    return samples


def print_row(contest, operation, size, times, bars):
    """One cell; whether it is below its bar."""
    medians = {name: statistics.median(values) for name, values in times.items()}
    ours = medians.pop(contest.ours, None)
    best = {peer: min((m for name, m in medians.items() if name.startswith(peer)), default=None)
            for peer in contest.peers}
    bar_of = {peer: bars.get(peer) if isinstance(bars, dict) else bars for peer in contest.peers}
    rated = {peer: time / ours for peer, time in best.items() if ours and time and bar_of[peer]}
    if not rated:
        print(f"{operation:<12}{size:>10}  not measured")
        return True
    closest = min(rated, key=lambda peer: rated[peer] / bar_of[peer])
    ratio, bar = rated[closest], bar_of[closest]
    noise = (max(times[contest.ours]) - min(times[contest.ours])) / ours
    mark = "" if ratio >= bar else "  noise" if bar <= 1.0 and ratio + noise >= bar else "  below"
    cells = "".join(f"{value:11.2f}" if value is not None else f"{'-':>11}" for value in best.values())
    print(f"{operation:<12}{size:>10}{ours:11.2f}{cells}{ratio:8.2f}{bar:6.2f}{mark:<7}  "
          f"{contest.beside(operation, size)}", flush=True)
    return mark == "  below"


def hold(contest, folder, ranks, arguments):
    """One table; its records."""
    cpus = len(os.sched_getaffinity(0))
    crowded = ranks > cpus
    print(f"\n{contest.title or contest.ours}: {ranks} ranks on {cpus} cores, microseconds (median of the slowest rank)")
    print(f"{'operation':<12}{'bytes':>10}{contest.ours:>11}" + "".join(f"{peer:>11}" for peer in contest.peers) +
          f"{'ratio':>8}{'bar':>6}")
    below, records = [], []
    for operation in arguments.operations or contest.bars:
        if operation not in (contest.crowded_bars if crowded else contest.bars):
            continue
        samples = compare(contest, folder, ranks, operation, arguments.rounds, arguments.effort)
        for size, times in sorted(samples.items()):
            if size not in contest.bars[operation]:
                continue
            bars = contest.crowded_bars[operation] if crowded else contest.bars[operation][size]
            below.append(print_row(contest, operation, size, times, bars))
            records.append({"ours": contest.ours, "ranks": ranks, "op": operation, "bytes": size, "us": times})
    print(f"{sum(below)} of {len(below)} cells below their bar", flush=True)
    return records


def main(description, make_contests, ranks):
    """`make_contests(folder)`: the contests to hold, each for every number of ranks that is asked for."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("folder", type=lambda name: Path(name).resolve(), help="where the programs are: build/…/bench")
    parser.add_argument("--ranks", type=int, nargs="+", default=ranks)
    parser.add_argument("--operations", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--effort", type=float, default=0.5, help="more calls a batch, less noise")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    records = []
    for contest in make_contests(arguments.folder):
        for number in arguments.ranks:
            records += hold(contest, arguments.folder, number, arguments)
    if arguments.json:
        arguments.json.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
