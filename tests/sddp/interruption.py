"""A rank that is killed ends the job, by name; SIGTERM ends it in order. Either way the checkpoint leads to the same bits."""

import os
import pathlib
import re
import signal
import struct
import time

from program import Program, check

import kernel

program = Program()
CASE = "--stages 6 --hydros 3 --thermals 2 --scenarios 8 --openings 4".split()
ENDLESS = ["--iterations", 3000]  # longer than any test: it is always the signal that ends it


SOON = 20  # seconds: the launcher of Open MPI takes two
NUMBER = re.compile(r"\0(?:COBRE_(?:SHM|TCP)_RANK|OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)\0")


def read(pid, name):
    """A file of /proc; nothing where the process is gone."""
    try:
        return pathlib.Path("/proc", str(pid), name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def below(pid):
    found = [int(child) for child in read(pid, f"task/{pid}/children").split()]
    return found + [later for child in found for later in below(child)]


def runs_program(pid):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program.arguments.program)
    except OSError:
        return False


def ranks_of(job):
    """The processes of the program below `job`, by the number that each was given."""
    found = {}
    for pid in filter(runs_program, [job.pid, *below(job.pid)]):
        number = NUMBER.search("\0" + read(pid, "environ"))
        found[int(number.group(1)) if number else 0] = pid
    return found


def start_and_signal(backend, ranks, number, victim, checkpoint):
    """Sends the signal to one rank as soon as there is a checkpoint; what the job said, and its exit code."""
    job = program.start(backend, ranks, *CASE, *ENDLESS, "--checkpoint", checkpoint, "--every", 2)
    deadline = time.monotonic() + 60
    while not os.path.exists(checkpoint):
        check(time.monotonic() < deadline and job.poll() is None, f"{backend}: no checkpoint: {job.poll()}")
        time.sleep(0.002)
    processes = ranks_of(job)
    check(sorted(processes) == list(range(ranks)), f"{backend}: the processes {processes}, not {ranks} ranks")
    os.kill(processes[victim], number)
    begin = time.monotonic()
    out, errors = job.communicate(timeout=60)
    check(time.monotonic() - begin < SOON, f"{backend}: it took {time.monotonic() - begin:.0f} s to end")
    deadline = time.monotonic() + 2  # a launcher may end before the last rank is gone
    while left := list(filter(runs_program, processes.values())):
        check(time.monotonic() < deadline, f"{backend}: the processes {left} outlived the job")
        time.sleep(0.01)
    return job.returncode, out, errors, processes


def check_resumed(checkpoint, backend, ranks):
    """From the checkpoint and from the beginning: the same bits a few iterations later, also on one process and on another
    backend with another number of ranks."""
    done = struct.unpack_from("=Q", pathlib.Path(checkpoint).read_bytes(), 16)[0]
    case = [*CASE, "--iterations", done + 4]
    expected = program.result("local", 1, *case)
    other = [(name, count) for name, count in program.configurations(ranks=(2,)) if name not in ("local", backend)]
    for name, count in {(backend, ranks), ("local", 1), *other[-1:]}:
        check(program.result(name, count, *case, "--resume", checkpoint) == expected,
              f"other bits on {name} x {count} after {done} iterations of {backend}")
    return done


for backend, ranks in program.configurations(ranks=(3,)):
    if ranks > 1:
        file = program.file(f"{backend}-killed")
        # MPICH's own launcher knows no ranks; the command names the one that was killed, and no other.
        by_command = backend == "mpi" and program.launcher("mpi-command") is not None
        how = "mpi-command" if by_command else backend
        code, out, errors, processes = start_and_signal(how, ranks, signal.SIGKILL, 1, file)
        check(code != 0, f"{backend}: a killed rank went unnoticed")
        if by_command:
            named = re.findall(r"^cobre-comm: rank (\d+) of \d+ \(pid (\d+) on \S+\) was killed by signal 9 \(SIGKILL\)$",
                               errors, re.MULTILINE)
            check(named == [("1", str(processes[1]))] or not (named or kernel.keeps_endings()),
                  f"{backend}: the rank that was killed is not named: {out} {errors}")
        elif backend != "mpi":
            check("rank 1" in errors, f"{backend}: nobody names the rank that was killed: {out} {errors}")
        print(f"{backend}: killed, went on after {check_resumed(file, backend, ranks)} iterations")

    file = program.file(f"{backend}-ended")
    code, out, errors, _ = start_and_signal(backend, ranks, signal.SIGTERM, ranks - 1, file)
    check(code == 0, f"{backend}: SIGTERM did not end the job in order: {code} {errors}")
    check("ended: interrupted after" in out, f"{backend}: said {out}")
    print(f"{backend}: ended, went on after {check_resumed(file, backend, ranks)} iterations")
