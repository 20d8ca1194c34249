"""cobre-comm run with tcp: on this machine, and on hosts that a remote shell reaches."""
import os
import re
import signal
import time
import unittest

from support import RANKS, CommandTest, children_of, descendants_of, run, start

FOLDER = os.environ["COBRE_COMM_TEST_FOLDER"]
# Does what ssh does, on this machine: everything after the host goes to a shell in one piece.
SHELL = os.path.join(FOLDER, "remote_shell")
TWO_HOSTS = ["--rsh", SHELL, "--hosts", "127.0.0.1:2,127.0.0.1:2"]


def setUpModule():
    with open(SHELL, "w", encoding="utf-8") as out:
        out.write('#!/bin/sh\ntest "$1" = unreachable && { echo "no route to $1" >&2; exit 255; }\n'
                  'shift\ncd / && exec sh -c "$*"\n')
    os.chmod(SHELL, 0o755)


class OneMachine(CommandTest):
    def test_any_number_of_ranks_makes_one_group(self):
        for ranks in (1, 2, 3, 5):
            with self.subTest(ranks=ranks):
                job = run("run", "--backend", "tcp", "-n", ranks, RANKS, "sum")
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                total = ranks * (ranks + 1) // 2
                self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {r} of {ranks}: {total}" for r in range(ranks)])

    def test_a_failing_rank_is_named(self):
        job = run("run", "--backend", "tcp", "-n", 3, RANKS, "kill", 9, 1)
        self.assertEqual(job.returncode, 128 + 9, job.stderr)
        self.assertRegex(job.stderr, r"(?m)^cobre-comm: rank 1 of 3 \(pid \d+ on \S+\) was killed by signal 9 \(SIGKILL\)")

    def test_the_secret_is_out_of_sight(self):
        job = start("run", "--backend", "tcp", "-n", 2, RANKS, "stuck", 1)
        self.wait_until(lambda: len(children_of(job.pid)) == 3, "the ranks did not start")
        time.sleep(0.3)
        for pid in [job.pid, *children_of(job.pid)]:
            for file in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{file}", "rb") as text:
                    self.assertFalse(re.search(rb"[0-9a-f]{64}", text.read()), file)
        job.terminate()
        self.ended(job)


class Hosts(CommandTest):
    def test_ranks_of_two_hosts_are_one_group(self):
        job = run("run", *TWO_HOSTS, RANKS, "sum")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {rank} of 4: 10" for rank in range(4)])

    def test_a_number_of_ranks_fills_the_hosts_in_order(self):
        job = run("run", *TWO_HOSTS, "-n", 3, "--tag", RANKS, "sum")
        self.assertEqual(sorted(job.stdout.splitlines()), [f"[{rank}] rank {rank} of 3: 6" for rank in range(3)], job.stderr)
        job = run("run", *TWO_HOSTS, "-n", 5, RANKS, "sum")
        self.assertEqual(job.returncode, 2)
        self.assertIn("the hosts have places for 4 ranks", job.stderr)

    def test_hosts_may_stand_in_a_file(self):
        file = os.path.join(FOLDER, "hosts.txt")
        with open(file, "w", encoding="utf-8") as out:
            out.write("# two of them\n127.0.0.1 slots=2\n\n127.0.0.1:1  # the other\n")
        job = run("run", "--rsh", SHELL, "--hostfile", file, RANKS, "sum")
        self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {rank} of 3: 6" for rank in range(3)], job.stderr)

    def test_programs_run_in_the_same_folder(self):
        job = run("run", *TWO_HOSTS, "pwd", cwd=FOLDER)
        self.assertEqual(job.stdout, f"{os.path.realpath(FOLDER)}\n" * 4, job.stderr)

    def test_input_goes_to_rank_0_alone(self):
        job = run("run", *TWO_HOSTS, RANKS, "echo", input="one\ntwo\n")
        self.assertEqual((job.returncode, job.stdout), (0, "rank 0 read one\nrank 0 read two\n"), job.stderr)

    def test_signals_go_to_every_rank(self):
        job = start("run", *TWO_HOSTS, RANKS, "signal")
        self.assertEqual([job.stdout.readline() for _ in range(4)], ["ready\n"] * 4)
        job.send_signal(signal.SIGUSR1)
        out, _ = self.ended(job)
        self.assertEqual(sorted(out.splitlines()), [f"rank {rank} got it" for rank in range(4)])
        self.assertEqual(job.returncode, 0)

    def test_the_failing_rank_is_named_by_its_number_in_the_job(self):
        begin = time.monotonic()
        job = run("run", *TWO_HOSTS, RANKS, "kill", 9, 3)
        self.assertEqual(job.returncode, 128 + 9, job.stderr)
        self.assertIn("rank 3 of 4 (pid ", job.stderr)
        self.assertLess(time.monotonic() - begin, 5)

    def test_killing_the_launcher_leaves_no_orphan(self):
        for number in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(signal=number.name):
                job = start("run", *TWO_HOSTS, RANKS, "spawn")
                lines = [job.stdout.readline() for _ in range(4)]
                everyone = descendants_of(job.pid) + [int(line.split()[1]) for line in lines]
                job.send_signal(number)
                job.communicate(timeout=20)
                self.expect_gone(everyone)

    def test_a_host_that_cannot_be_reached_is_named(self):
        job = run("run", "--rsh", SHELL, "--hosts", "127.0.0.1,unreachable", RANKS, "sum")
        self.assertEqual(job.returncode, 255)
        self.assertIn("no route to unreachable", job.stderr)
        self.assertIn("cobre-comm: the agent on host unreachable ended with code 255", job.stderr)

    def test_what_cannot_be_is_one_clear_line_and_code_2(self):
        for words, arguments in (("is no host", ["--hosts", "a:many"]), ("is no host", ["--hosts", "a,,b"]),
                                 ("is no host", ["--hosts", "-oProxyCommand=x"]),
                                 ("cannot read the hosts", ["--hostfile", "/no/such/file"]),
                                 ("not both", ["--hosts", "a", "--hostfile", "b"]),
                                 ("no program 'no-shell'", ["--hosts", "a", "--rsh", "no-shell"]),
                                 ("reached with tcp", ["--hosts", "a", "--backend", "shm"])):
            job = run("run", *arguments, RANKS, "sum")
            self.assertEqual((job.returncode, len(job.stderr.splitlines())), (2, 1), (arguments, job.stderr))
            self.assertIn(words, job.stderr)


if __name__ == "__main__":
    unittest.main()
