"""Runs the training loop under SimGrid at several rank counts and prints how long the simulated machine takes.

usage: simulate.py [--iterations N] [--stages N] SMPIRUN PROGRAM RANKS...

The machine: one rank a node, 100 Gb/s and one microsecond to a switch that is never the bottleneck; collectives as MPICH
does them. Computation costs nothing there, so the figures are those of the messages alone, and the same on every run.
"""

import argparse
import re
import subprocess
import sys
import tempfile

# The solver's loop with one forward pass a rank at the largest size, and messages short enough for a laptop's memory: what
# a rank receives is held a thousand times.
PASSES, STATE, CAPACITY, STATISTICS = 1024, 8, 64, 4

PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="cluster" prefix="node-" suffix="" radical="0-{last}" speed="50Gf" bw="12.5GBps" lat="1us"/>
</platform>
"""
RESULT = re.compile(r"^ranks (\d+) collectives (\d+) milliseconds ([0-9.]+)$", re.MULTILINE)


def simulate(smpirun, program, ranks, iterations, stages):
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as platform:
        platform.write(PLATFORM.format(last=ranks - 1))
        platform.flush()
        command = [smpirun, "-np", str(ranks), "-platform", platform.name, "--cfg=smpi/simulate-computation:no",
                   "--cfg=smpi/coll-selector:mpich", "--log=root.thresh:warning", program]
        command += map(str, (iterations, stages, PASSES, STATE, CAPACITY, STATISTICS))
        job = subprocess.run(command, capture_output=True, text=True, check=False)
    result = RESULT.search(job.stdout)
    if job.returncode != 0 or not result or int(result[1]) != ranks:
        sys.exit(f"{ranks} simulated ranks failed with exit code {job.returncode}:\n{job.stdout}{job.stderr}")
    return int(result[2]), float(result[3])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=1)
    parser.add_argument("--stages", type=int, default=60)
    parser.add_argument("smpirun")
    parser.add_argument("program")
    parser.add_argument("ranks", type=int, nargs="+")
    options = parser.parse_args()
    print(f"SIMULATED (SimGrid): a training iteration of {options.stages} stages, data checked on every rank\n")
    print(f"{'ranks':>6} {'collectives':>12} {'iteration':>14} {'collective':>14}")
    for ranks in options.ranks:
        collectives, milliseconds = simulate(options.smpirun, options.program, ranks, options.iterations,
                                             options.stages)
        print(f"{ranks:>6} {collectives:>12} {milliseconds:>11.3f} ms {milliseconds / collectives * 1e3:>11.2f} us",
              flush=True)


main()
