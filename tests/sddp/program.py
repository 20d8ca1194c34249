"""The program under test: starting it on a backend, and comparing what it computed."""

import argparse
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
import own_mpi_directory  # noqa: E402, F401

LIMIT = 100  # seconds for one run
TINY = "--stages 4 --hydros 3 --thermals 2 --order 2 --scenarios 7 --openings 3 --iterations 6".split()


def check(holds, what):
    if not holds:
        raise SystemExit(f"FAILED: {what}")


class Program:
    def __init__(self):
        parser = argparse.ArgumentParser()
        parser.add_argument("--program", required=True)
        parser.add_argument("--cases", type=pathlib.Path, required=True)
        parser.add_argument("--local", action="store_true")
        for backend in ("shm", "tcp", "mpi", "mpi-command"):
            parser.add_argument(f"--{backend}", help="the command that starts {ranks} ranks")
        parser.add_argument("--results", type=pathlib.Path, help="where to leave what other configurations compare")
        self.arguments = parser.parse_args()
        self.cases = self.arguments.cases
        self.folder = tempfile.TemporaryDirectory(prefix="sddp-")

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def configurations(self, ranks=(2, 3, 4), sockets=False):
        """Every backend of this build, at every number of ranks that it can have; with `sockets` also tcp without the
        shared memory that it uses inside of a machine."""
        yield "local", 1
        for backend in ("shm", "tcp", *(("tcp-sockets",) if sockets else ()), "mpi"):
            if self.launcher(backend):
                yield from ((backend, count) for count in ranks)

    def launcher(self, backend):
        return getattr(self.arguments, backend.removesuffix("-sockets").replace("-", "_"))

    def command(self, backend, ranks, *arguments):
        launcher = self.launcher(backend)
        before = shlex.split(launcher.format(ranks=ranks)) if backend != "local" else []
        return [*before, self.arguments.program, *map(str, arguments)]

    @staticmethod
    def environment(backend):
        if backend == "tcp-sockets":
            return {**os.environ, "COBRE_COMM_BACKEND": "tcp", "COBRE_TCP_SHARED_MEMORY": "0"}
        return {**os.environ, "COBRE_COMM_BACKEND": backend.removesuffix("-command")}

    def start(self, backend, ranks, *arguments):
        """Without waiting for it."""
        return subprocess.Popen(self.command(backend, ranks, *arguments), env=self.environment(backend), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, backend, ranks, *arguments):
        return subprocess.run(self.command(backend, ranks, *arguments), env=self.environment(backend), text=True,
                              capture_output=True, timeout=LIMIT)

    def result(self, backend, ranks, *arguments):
        """All that was computed, as bytes: the bounds of every iteration, and every cut."""
        file = self.file("result")
        job = self.run(backend, ranks, "--checkpoint", file, *arguments)
        check(job.returncode == 0, f"{backend} on {ranks} ranks: {job.stderr}")
        return pathlib.Path(file).read_bytes()
