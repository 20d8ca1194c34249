"""cobre-comm run --backend mpi: handing over to the launcher of the right MPI."""
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import unittest

from support import COMMAND, LIMIT, RANKS, CommandTest, run, start, write_script

import kernel


def program_that_needs(library):
    """What of an ELF file tells the loader which libraries to fetch."""
    strings = b"\0" + library.encode() + b"\0"
    dynamic = struct.pack("<QQQQ", 1, 1, 0, 0)  # DT_NEEDED at 1, DT_NULL
    at = 64
    sections = at + len(strings) + len(dynamic)
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, 0, 0, sections, 0, 64, 0, 0, 64, 2, 0)

    def section(kind, offset, size, link):
        return struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 1, 0)

    return (head + strings + dynamic + section(3, at, len(strings), 0) +
            section(6, at + len(strings), len(dynamic), 0))


class HandingOver(CommandTest):
    def test_the_program_runs_under_mpi(self):
        job = run("run", "--backend", "mpi", "-n", 3, RANKS, "sum")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {rank} of 3: 6" for rank in range(3)])

    def test_its_exit_code_is_that_of_the_failing_rank(self):
        job = run("run", "--backend", "mpi", "-n", 2, RANKS, "fail", 7, 1)
        self.assertEqual(job.returncode, 7, job.stderr)

    def test_the_launcher_is_the_one_of_the_programs_library(self):
        mine = run("run", "--backend", "mpi", "-n", 2, "--dry-run", RANKS, "sum").stderr
        self.assertRegex(mine, r"^cobre-comm: \S*(mpirun|mpiexec)\S* .*-n 2 .*sum$")
        other = "libmpich.so.12" if "--oversubscribe" in mine else "libmpi.so.40"
        file = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], "needs_the_other_mpi")
        with open(file, "wb") as out:
            out.write(program_that_needs(other))
        os.chmod(file, 0o755)
        theirs = run("run", "--backend", "mpi", "-n", 2, "--dry-run", file).stderr
        self.assertEqual("--oversubscribe" in mine, "--oversubscribe" not in theirs, theirs)

    def under_slurm(self, *options):
        """What a job of six tasks would become, of a program that srun can start."""
        folder = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], "slurm_of_six")
        os.makedirs(folder, exist_ok=True)
        write_script(os.path.join(folder, "srun"), "#!/bin/sh\nexit 1\n")
        file = os.path.join(folder, "needs_mpich")
        with open(file, "wb") as out:
            out.write(program_that_needs("libmpich.so.12"))
        os.chmod(file, 0o755)
        job = run("run", "--backend", "mpi", "--dry-run", *options, file,
                  env=os.environ | {"SLURM_JOB_ID": "1", "SLURM_NTASKS": "6", "PATH": folder})
        self.assertEqual(job.returncode, 0, job.stderr)
        return job.stderr.split()[2:-1]

    def test_every_option_is_translated_for_srun(self):
        usual = ["-n", "6", "--overcommit", "--mpi=pmi2", "--kill-on-bad-exit"]
        self.assertEqual(self.under_slurm(), usual)
        for options, words in ((["-n", 3], ["3"]), (["--timeout", 61], ["--time=2"]), (["--timeout", 0.5], ["--time=1"]),
                               (["--tag"], ["--label"]), (["--bind", "core"], ["--cpu-bind=cores"]),
                               (["--bind", "numa"], ["--cpu-bind=ldoms"])):
            self.assertEqual([word for word in self.under_slurm(*options) if word not in usual], words, options)
        self.assertNotIn("--kill-on-bad-exit", self.under_slurm("--keep-going"))

    def test_a_library_that_a_program_only_talks_about_is_not_the_one_that_it_needs(self):
        # The command has the names of all of them in it.
        expected = run("run", "--backend", "mpi", "-n", 2, "--dry-run", RANKS, "sum").stderr
        own = run("run", "--backend", "mpi", "-n", 2, "--dry-run", "--", COMMAND, "info", "--layout").stderr
        self.assertEqual("--oversubscribe" in expected, "--oversubscribe" in own, own)

    def test_a_file_that_was_cut_off_is_no_reason_to_stumble(self):
        file = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], "cut_off")
        whole = program_that_needs("libmpi.so.40")
        for length in (3, 63, 64, 80, 150, len(whole) - 1):
            with open(file, "wb") as out:
                out.write(whole[:length])
            os.chmod(file, 0o755)
            job = run("run", "--backend", "mpi", "-n", 2, "--dry-run", file)
            self.assertEqual((job.returncode, len(job.stderr.splitlines())), (0, 1), job.stderr)

    def test_the_launcher_of_another_mpi_is_found_out(self):
        mine = run("run", "--backend", "mpi", "-n", 2, "--dry-run", RANKS, "sum").stderr
        other = (["mpiexec.hydra"] if "--oversubscribe" in mine
                 else ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"])
        job = subprocess.run([*other, "-n", "2", COMMAND, "info", "--layout"], capture_output=True, text=True,
                             timeout=LIMIT, check=False, stdin=subprocess.DEVNULL)
        self.assertNotEqual(job.returncode, 0)
        self.assertNotIn("rank 0", job.stdout)
        self.assertIn("the launcher announced 2 processes", job.stderr)
        self.assertIn("Use the launcher that belongs to", job.stderr)

    def test_info_tells_of_the_library_without_starting_it(self):
        job = run("info")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertRegex(job.stdout, r"gpu aware +(yes|no|unknown)")

    def test_no_launcher_is_a_clear_line(self):
        job = run("run", "--backend", "mpi", "-n", 2, RANKS, "sum", env=os.environ | {"PATH": "/nowhere"})
        self.assertEqual(job.returncode, 2)
        self.assertIn("is in PATH", job.stderr)


# As another user: claims to be each rank of three, and then comes to the door without end, as so many that there is always
# one before it, whatever share of the processors the lookout has.
STRANGER = """
import ctypes, itertools, os, socket, struct, sys
name = b"\\0" + sys.argv[1].encode()
os.setgroups([]); os.setgid(65534); os.setuid(65534)
own = os.pidfd_open(os.getpid())
def knock():
    caller = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    caller.connect(name)
    return caller
turned_away = 0
for rank in range(3):
    with knock() as caller:
        try:
            socket.send_fds(caller, [struct.pack("II", rank, 3)], [own])
            turned_away += caller.recv(1) == b""
        except (BrokenPipeError, ConnectionResetError):
            turned_away += 1
print("turned away", turned_away, flush=True)
first = all(os.fork() for _ in range(8))
if not first:
    ctypes.CDLL(None).prctl(1, 9)  # the end of the first is theirs
    os.setsid()  # which has a share of the processors of its own
try:
    for count in itertools.count():
        knock().close()
        if first and count == 1000:
            print("busy", flush=True)
except ConnectionRefusedError:  # the job is over
    pass
"""


class Named(CommandTest):
    def expect_named(self, said, rank, how):
        """That one, and no other."""
        named = re.findall(r"^cobre-comm: rank (\d+) of 3 \(pid \d+ on \S+\) (.*)$", said, re.MULTILINE)
        if named or kernel.keeps_endings():
            self.assertEqual(named, [(str(rank), how)], said)


class Naming(Named):
    """The rank that failed first, whatever the launcher says about it."""

    def test_one_that_is_killed(self):
        for rank in (0, 1):
            job = run("run", "--backend", "mpi", "-n", 3, RANKS, "kill", 9, rank)
            self.expect_named(job.stderr, rank, "was killed by signal 9 (SIGKILL)")
            for line in re.findall(r"^cobre-comm: rank 1 of 3 .*$", job.stderr, re.MULTILINE):
                self.expect_as_on_the_page(line)
            self.assertIn(job.returncode, (9, 137))  # as MPICH's launcher has it, and as Open MPI's

    def test_one_that_ends_with_a_code(self):
        job = run("run", "--backend", "mpi", "-n", 3, RANKS, "fail", 3, 2)
        self.expect_named(job.stderr, 2, "ended with code 3")
        self.assertIn(job.returncode, (3, 9), job.stderr)  # MPICH's launcher may take that of a rank that it killed

    def test_one_that_is_killed_when_the_others_have_ended(self):
        script = '"$@" || exit; test "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" != 1 && exit; sleep 0.2; kill -KILL $$'
        job = run("run", "--backend", "mpi", "-n", 3, "sh", "-c", script, "sh", RANKS, "sum")
        self.expect_named(job.stderr, 1, "was killed by signal 9 (SIGKILL)")
        self.assertNotEqual(job.returncode, 0)

    def test_none_of_a_job_that_a_rank_aborts_as_that_one_says_so(self):
        job = run("run", "--backend", "mpi", "-n", 3, RANKS, "throw", 1)
        self.assertIn("cobre-comm: rank 1 of 3 failed: the sky fell\n", job.stderr)
        self.assertNotIn("(pid", job.stderr)

    def test_none_of_a_job_whose_time_is_up(self):
        job = run("run", "--backend", "mpi", "-n", 2, "--timeout", 1, RANKS, "stuck", 1)
        self.assertNotEqual(job.returncode, 0)
        self.assertNotIn("(pid", job.stderr)

    def test_the_lookout_ends_with_the_launcher(self):
        mark = f"COBRE_COMM_TEST_MARK={os.getpid()}"

        def is_lookout(pid):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                    if name.read() != "cobre-lookout\n":
                        return False
                with open(f"/proc/{pid}/environ", "rb") as variables:
                    return mark.encode() in variables.read().split(b"\0")
            except (FileNotFoundError, ProcessLookupError):
                return False  # gone meanwhile

        job = start("run", "--backend", "mpi", "-n", 2, RANKS, "stuck", 1, env=os.environ | dict([mark.split("=")]))
        self.assertEqual(job.stdout.readline(), "stuck\n")
        found = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and is_lookout(pid)]
        self.assertEqual(len(found), 1)
        job.terminate()
        self.ended(job)
        self.expect_gone(found)

    def test_what_cannot_be_executed_is_told(self):
        file = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], "of_no_interpreter")
        write_script(file, "#!/nowhere/at/all\n")
        job = run("run", "--backend", "mpi", "-n", 1, file)
        self.assertNotEqual(job.returncode, 0)
        self.assertIn(f"cobre-comm: cannot execute '{file}': No such file or directory\n", job.stderr)


class Crowd(Named):
    """Nine processes that knock without end: nothing else is to run beside them."""

    def test_one_that_is_killed_while_another_user_keeps_the_door_busy(self):
        # The real launcher begins only when the stranger is there: its command line tells everybody the name.
        folder = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], f"slow_launcher_{os.getpid()}")
        os.makedirs(folder)
        self.addCleanup(shutil.rmtree, folder)
        words = run("run", "--backend", "mpi", "-n", 3, "--dry-run", RANKS, "kill", 9, 1).stderr.split()
        tell = (f'echo "$*" > {folder}/draft; mv {folder}/draft {folder}/words; '
                f'while ! test -e {folder}/go; do sleep 0.01; done; ')
        for name in ("mpirun", "mpiexec"):
            write_script(os.path.join(folder, name),
                         f'#!/bin/sh\ntest "$1" = --version || {{ {tell} }}\nexec {words[1]} "$@"\n')
        job = start("run", "--backend", "mpi", "-n", 3, RANKS, "kill", 9, 1,
                    env=os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"})
        self.wait_until(lambda: os.path.exists(f"{folder}/words"), "the launcher was not started")
        with open(f"{folder}/words", encoding="utf-8") as text:
            name = re.search(r"--lookout (\S+)", text.read()).group(1)
        stranger = subprocess.Popen([sys.executable, "-c", STRANGER, name], stdout=subprocess.PIPE, text=True,
                                    start_new_session=True)
        self.addCleanup(stranger.communicate)
        self.addCleanup(os.killpg, stranger.pid, signal.SIGKILL)
        self.assertEqual([stranger.stdout.readline() for _ in range(2)], ["turned away 3\n", "busy\n"])
        with open(f"{folder}/go", "w", encoding="utf-8"):
            pass
        _, said = self.ended(job)
        self.expect_named(said, 1, "was killed by signal 9 (SIGKILL)")


if __name__ == "__main__":
    unittest.main()
