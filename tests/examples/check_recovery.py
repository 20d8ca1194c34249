"""The first run loses a rank in step 5, the second one goes on from what was saved.

usage: check_recovery.py BACKEND LAUNCHER… PROGRAM
"""

import os
import subprocess
import sys
import tempfile

backend, command = sys.argv[1], sys.argv[2:]
doomed = "1"  # there is no such rank on local, and so no death
with tempfile.TemporaryDirectory() as folder:
    file = os.path.join(folder, "work")
    first = subprocess.run([*command, file, doomed], capture_output=True, text=True, timeout=30)
    if (first.returncode == 0) != (backend == "local"):
        sys.exit(f"a death must not go unseen, nor may the living fail:\n{first.stdout}{first.stderr}")
    if backend == "local":
        sys.exit(0 if "0 + 1 + ... + 9 = 45" in first.stdout else f"wrong sum:\n{first.stdout}")
    # Under MPI the launcher ends the others before they can speak.
    if backend != "mpi" and "rank 0: rank 1 died, step 5 is saved" not in first.stderr:
        sys.exit(f"rank 0 was not told who died:\n{first.stderr}")
    second = subprocess.run([*command, file], capture_output=True, text=True, timeout=30)
    if second.returncode != 0:
        sys.exit(f"the second run failed:\n{second.stderr}")
    for words in ("going on after step 5", "0 + 1 + ... + 9 = 45"):
        if words not in second.stdout:
            sys.exit(f"{words!r} is missing in:\n{second.stdout}")
print("went on after the death of rank 1")
