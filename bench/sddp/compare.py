"""The exchanges of SDDP training on shm beside plain Open MPI: microseconds an iteration, two ranks, in one run.

usage: compare.py FOLDER RUN_SHM [--rounds N]

Every round runs ours and the peer at both thread levels, one after another; medians over the rounds count, and of the
peer the faster level. The bars: 1.3 with allgatherv, 2.0 through regions.
"""

import argparse
import statistics
import subprocess

RANKS = "2"


def measure(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return {name: float(time) for name, time in (line.split() for line in done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("run_shm")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    mpi = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", RANKS,
           f"{arguments.folder}/bench_sddp_peer_openmpi"]
    ours, peers = {"allgatherv": [], "region": []}, {"single": [], "multiple": []}
    for _ in range(arguments.rounds):
        for name, time in measure(["bash", arguments.run_shm, RANKS, f"{arguments.folder}/bench_sddp"]).items():
            ours[name].append(time)
        for level, times in peers.items():
            times.append(measure([*mpi, level])["allgatherv"])
    peer = min(statistics.median(times) for times in peers.values())
    print("The exchanges of one SDDP iteration, medium case, 2 ranks, in microseconds")
    print(f"  Open MPI, allgatherv  {peer:8.2f}")
    for name, bar in (("allgatherv", 1.3), ("region", 2.0)):
        time = statistics.median(ours[name])
        verdict = "" if peer / time >= bar else "   below the bar"
        print(f"  shm, {name:<16} {time:8.2f}   {peer / time:.2f} times as fast, bar {bar}{verdict}")


if __name__ == "__main__":
    main()
