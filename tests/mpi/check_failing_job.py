"""A rank that dies or throws under an MPI launcher ends the whole job, soon, with an exit code that tells.

usage: check_failing_job.py kill|throw|drop LAUNCHER… PROGRAM
"""

import os
import subprocess
import sys
import time

LIMIT = 20  # seconds


def processes_of(program):
    """Those that still run the program, by their executable."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.path.samefile(f"/proc/{pid}/exe", program):
                found.append(pid)
        except OSError:
            pass  # gone, or not ours to look at
    return found


def main():
    how, command = sys.argv[1], sys.argv[2:]
    begin = time.monotonic()
    job = subprocess.run(command + [how], capture_output=True, text=True, timeout=LIMIT)
    seconds = time.monotonic() - begin
    if job.returncode == 0:
        sys.exit(f"the job succeeded although a rank failed ({how})")
    if how != "kill" and "cobre-comm: rank 1 of 3 failed: the sky fell" not in job.stderr:
        sys.exit(f"nothing on stderr names the rank and the cause:\n{job.stderr}")
    deadline = time.monotonic() + 2  # the launcher may report before the last process is gone
    while (left := processes_of(command[-1])) and time.monotonic() < deadline:
        time.sleep(0.05)
    if left:
        sys.exit(f"processes {', '.join(left)} outlived the job")
    print(f"ended with exit code {job.returncode} after {seconds:.2f} s, nothing left")


main()
