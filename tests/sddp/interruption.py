"""A rank that is killed ends the job, by name; SIGTERM ends it in order. Either way the checkpoint leads to the same bits."""

import os
import pathlib
import signal
import struct
import time

from program import Program, check

program = Program()
CASE = "--stages 6 --hydros 3 --thermals 2 --scenarios 8 --openings 4".split()
ENDLESS = ["--iterations", 3000]  # longer than any test: it is always the signal that ends it


def ranks_of(job):
    """The processes of the program below `job`, by parentage."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                parents[int(pid)] = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            pass  # gone meanwhile

    def below(pid):
        while pid in parents and pid != job.pid:
            pid = parents[pid]
        return pid == job.pid

    def is_program(pid):
        try:
            return os.path.samefile(f"/proc/{pid}/exe", program.arguments.program)
        except OSError:
            return False

    return sorted(pid for pid in parents if below(pid) and is_program(pid))


def start_and_signal(backend, ranks, number, victim, checkpoint):
    """Sends the signal to one rank as soon as there is a checkpoint; what the job said, and its exit code."""
    job = program.start(backend, ranks, *CASE, *ENDLESS, "--checkpoint", checkpoint, "--every", 2)
    deadline = time.monotonic() + 60
    while not os.path.exists(checkpoint):
        check(time.monotonic() < deadline and job.poll() is None, f"{backend}: no checkpoint: {job.poll()}")
        time.sleep(0.002)
    processes = ranks_of(job)
    check(len(processes) == ranks, f"{backend}: {len(processes)} processes, not {ranks}")
    os.kill(processes[victim], number)
    out, errors = job.communicate(timeout=60)
    return job.returncode, out, errors


def check_resumed(checkpoint, backend, ranks):
    """From the checkpoint and from the beginning: the same bits a few iterations later, also on one process."""
    done = struct.unpack_from("=Q", pathlib.Path(checkpoint).read_bytes(), 16)[0]
    case = [*CASE, "--iterations", done + 4]
    expected = program.result("local", 1, *case)
    for name, count in {(backend, ranks), ("local", 1)}:
        check(program.result(name, count, *case, "--resume", checkpoint) == expected,
              f"other bits on {name} x {count} after {done} iterations of {backend}")
    return done


for backend, ranks in program.configurations(ranks=(3,)):
    if ranks > 1:
        file = program.file(f"{backend}-killed")
        code, out, errors = start_and_signal(backend, ranks, signal.SIGKILL, 1, file)
        check(code != 0, f"{backend}: a killed rank went unnoticed")
        if backend != "mpi":  # there the launcher tells, in its own words
            check("rank 1" in errors, f"{backend}: nobody names the rank that was killed: {errors}")
        print(f"{backend}: killed, went on after {check_resumed(file, backend, ranks)} iterations")

    file = program.file(f"{backend}-ended")
    code, out, errors = start_and_signal(backend, ranks, signal.SIGTERM, ranks - 1, file)
    check(code == 0, f"{backend}: SIGTERM did not end the job in order: {code} {errors}")
    check("ended: interrupted after" in out, f"{backend}: said {out}")
    print(f"{backend}: ended, went on after {check_resumed(file, backend, ranks)} iterations")
