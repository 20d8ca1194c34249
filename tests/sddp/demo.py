"""What `make demo` shows: four ranks that share memory, and three lines on tcp and mpi whose commands do what they say.

usage: demo.py ROOT SCRIPT PAGE, where the last two are what the build has made of examples/demo.sh.in
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys

from program import check

root, script, page = sys.argv[1:]
FEW = ["--iterations", "3"]  # the demo hands them on; its own number takes seconds
watched = {"tcp": [], "mpi": [sys.executable, os.path.join(root, "tests/support/launch_watched.py")]}
environment = {name: value for name, value in os.environ.items() if not name.startswith("COBRE_")}


def run(*command):
    return subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, timeout=60)


asked = run("make", "--dry-run", "demo")
check(re.search(r"^tools/dev/build .*openmpi demo$", asked.stdout, re.MULTILINE), f"make demo runs {asked.stdout}")

pathlib.Path(page).unlink(missing_ok=True)
demo = run("bash", script, *FEW)
check(demo.returncode == 0, f"the demo ends with {demo.returncode}: {demo.stderr}")
check("backend   shm" in demo.stdout and "layout    4 ranks on" in demo.stdout, f"four ranks of shm: {demo.stdout}")
bounds = re.findall(r"^iteration \d/3: (.*)$", demo.stdout, re.MULTILINE)
check(len(bounds) == 3 and "Case small" in demo.stdout, f"the small case: {demo.stdout}")
check(page in demo.stdout and "<svg" in pathlib.Path(page).read_text(encoding="utf-8"), f"no page: {demo.stdout}")

said = demo.stdout.splitlines()[-3:]
check(said[0] == "The same program, with the same bits, in other ways:", f"the last three lines: {said}")
for line, backend in zip(said[1:], ("tcp", "mpi")):
    check(line.startswith(f"  {backend}: "), f"how to run it on {backend}: {line}")
    command = shlex.split(line.partition(": ")[2])
    check(backend != "mpi" or os.path.basename(command[0]).startswith("mpi"), f"a user starts MPI with its launcher: {line}")
    other = run(*watched[backend], *command, *FEW)
    check(other.returncode == 0, f"{line} ends with {other.returncode}: {other.stderr}")
    check(f"backend   {backend}" in other.stdout and "4 ranks on" in other.stdout, f"{line} gives {other.stdout}")
    check(re.findall(r"^iteration \d/3: (.*)$", other.stdout, re.MULTILINE) == bounds, f"{line} gives {other.stdout}")
print("the demo, and what it says of tcp and mpi, runs")
