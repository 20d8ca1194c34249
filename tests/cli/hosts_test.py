"""cobre-comm run with tcp: on this machine, and on hosts that a remote shell reaches."""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from support import PAGE, RANKS, CommandTest, children_of, descendants_of, run, start, write_script

FOLDER = os.environ["COBRE_COMM_TEST_FOLDER"]
# Does what ssh does, on this machine: everything after the host goes to a shell in one piece.
SHELL = os.path.join(FOLDER, "remote_shell")
TWO_HOSTS = ["--rsh", SHELL, "--hosts", "127.0.0.1:2,127.0.0.1:2"]


def setUpModule():
    write_script(SHELL, '#!/bin/sh\ntest "$1" = unreachable && { echo "no route to $1" >&2; exit 255; }\n'
                        'shift\ncd / && exec sh -c "$*"\n')


class OneMachine(CommandTest):
    def test_any_number_of_ranks_makes_one_group(self):
        for ranks in (1, 2, 3, 5):
            with self.subTest(ranks=ranks):
                job = run("run", "--backend", "tcp", "-n", ranks, RANKS, "sum")
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                total = ranks * (ranks + 1) // 2
                self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {r} of {ranks}: {total}" for r in range(ranks)])

    def test_a_failing_rank_is_named(self):
        for shared_memory in ("1", "0"):
            job = run("run", "--backend", "tcp", "-n", 3, RANKS, "kill", 9, 1,
                      env={**os.environ, "COBRE_TCP_SHARED_MEMORY": shared_memory})
            self.assertEqual(job.returncode, 128 + 9, job.stderr)
            self.assertRegex(job.stderr, r"(?m)^cobre-comm: rank 1 of 3 \(pid \d+ on \S+\) was killed by signal 9 "
                                         r"\(SIGKILL\) after barrier")

    def test_a_timeout_says_who_was_where(self):
        for shared_memory in ("1", "0"):
            job = run("run", "--backend", "tcp", "-n", 3, "--timeout", 3, RANKS, "stuck", 1,
                      env={**os.environ, "COBRE_TCP_SHARED_MEMORY": shared_memory})
            self.assertEqual(job.returncode, 124)
            self.assertIn("rank 1 after barrier, ranks 0 and 2 in allreduce of 1 x double with Max", job.stderr)

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

    def test_what_concerns_the_whole_job_arrives_and_what_concerns_one_host_does_not(self):
        # As ssh does it: nothing of our environment comes along by itself.
        shell = os.path.join(FOLDER, f"shell_of_nothing_{os.getpid()}")
        write_script(shell, '#!/bin/sh\nshift\nexec env -i PATH=/usr/bin:/bin sh -c "$*"\n')
        self.addCleanup(os.remove, shell)
        page = (PAGE.parent / "environment.md").read_text(encoding="utf-8")
        ours = dict.fromkeys(re.findall(r"`(COBRE_\w+)`", page), "4711")
        self.assertGreater(len(ours), 15)
        job = run("run", "--rsh", shell, "--hosts", "127.0.0.1:1", "env",
                  env={**os.environ, **ours, "OMP_NUM_THREADS": "4711", "STRANGE": "4711"})
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        arrived = {line.removesuffix("=4711") for line in job.stdout.splitlines() if line.endswith("=4711")}
        self.assertEqual(arrived, {"COBRE_COMM_TIMEOUT_SECS", "COBRE_COMM_PROGRESS", "COBRE_TCP_CONNECT_TIMEOUT_MS",
                                   "COBRE_TCP_HOST_TIMEOUT_MS", "COBRE_TCP_SHARED_MEMORY", "OMP_NUM_THREADS"})
        self.assertIn(f"PATH={os.environ['PATH']}", job.stdout.splitlines())

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
        # Without shared memory, as between hosts; here the two are one.
        job = run("run", *TWO_HOSTS, RANKS, "kill", 9, 3, env={**os.environ, "COBRE_TCP_SHARED_MEMORY": "0"})
        self.assertEqual(job.returncode, 128 + 9, job.stderr)
        self.assertRegex(job.stderr, r"rank 3 of 4 \(pid \d+ on \S+\) was killed by signal 9 \(SIGKILL\) after barrier")
        self.assertEqual(job.stderr.count("(pid "), 1, job.stderr)  # one line, whoever noticed what first
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

    def test_a_first_host_that_cannot_be_reached_ends_the_others_before_they_start(self):
        begin = time.monotonic()
        job = run("run", "--rsh", SHELL, "--hosts", "unreachable,127.0.0.1:2", "echo", "started")
        self.assertEqual((job.returncode, job.stdout), (255, ""), job.stderr)
        self.assertIn("cobre-comm: the agent on host unreachable ended with code 255", job.stderr)
        self.assertLess(time.monotonic() - begin, 5)

    def test_the_port_is_one_that_is_free_on_the_first_host(self):
        # A network of its own, in which all ports are taken that could be chosen, but one.
        take = ("import resource, socket, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (13000, 13000)); taken = []\n"
                "for port in range(20000, 32000):\n"
                "    if port != 25252:\n"
                "        taken.append(socket.socket()); taken[-1].bind(('', port))\n"
                "print('taken', flush=True); sys.stdin.read()")
        host = subprocess.Popen(["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$0" -c "$1"', sys.executable, take],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(host.communicate)
        self.assertEqual(host.stdout.readline(), "taken\n")
        inside = os.path.join(FOLDER, f"shell_inside_{os.getpid()}")
        write_script(inside, f'#!/bin/sh\nshift\nexec nsenter --net=/proc/{host.pid}/ns/net sh -c "$*"\n')
        self.addCleanup(os.remove, inside)
        job = run("run", "--rsh", inside, *TWO_HOSTS[2:], "--", "sh", "-c", f'echo $COBRE_TCP_COORDINATOR; exec {RANKS} sum')
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(sorted(job.stdout.splitlines()),
                         ["127.0.0.1:25252"] * 4 + [f"rank {rank} of 4: 10" for rank in range(4)])

    def test_what_cannot_be_is_one_clear_line_and_code_2(self):
        for words, arguments in (("is no host", ["--hosts", "a:many"]), ("is no host", ["--hosts", "a,,b"]),
                                 ("is no host", ["--hosts", "-oProxyCommand=x"]),
                                 *(("is no host", ["--hosts", f"a{control}b:2"]) for control in "\n\r\t\x01\x1b\x7f"),
                                 ("cannot read the hosts", ["--hostfile", "/no/such/file"]),
                                 ("not both", ["--hosts", "a", "--hostfile", "b"]),
                                 ("no program 'no-shell'", ["--hosts", "a", "--rsh", "no-shell"]),
                                 ("reached with tcp", ["--hosts", "a", "--backend", "shm"])):
            job = run("run", *arguments, RANKS, "sum")
            self.assertEqual((job.returncode, len(job.stderr.splitlines())), (2, 1), (arguments, job.stderr))
            self.assertIn(words, job.stderr)


class FailingHosts(CommandTest):
    """A failure on one host, and how soon and in which words the job ends on all of them."""

    TWO_NAMES = ["--rsh", SHELL, "--hosts", "127.0.0.1:2,localhost:2"]
    # What the shell of rank 3 does at its end tells when that was.
    FAILS = "sleep 0.2; date +%s.%N; exit 7"

    def run_and_time(self, script, *options):
        """The job, and the seconds from the failure to its end."""
        job = run("run", *options, *self.TWO_NAMES, "--", "sh", "-c", script)
        ended = time.time()
        moment = re.search(r"(?m)^\d+\.\d+$", job.stdout)
        self.assertTrue(moment, job)
        return job, ended - float(moment.group())

    def expect_one_word(self, err, pattern):
        self.assertEqual(err.count("(pid "), 1, err)
        self.assertRegex(err, pattern)

    def started(self, *arguments):
        job = start("run", *self.TWO_NAMES, RANKS, *arguments, env={**os.environ, "COBRE_TCP_SHARED_MEMORY": "0"})
        self.assertEqual(job.stdout.readline(), "stuck\n")
        return job

    @staticmethod
    def ranks_of(job):
        """Rank -> pid, of those that have become the program."""
        found = {}
        for pid in descendants_of(job.pid):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environment, open(f"/proc/{pid}/cmdline", "rb") as command:
                    number = re.search(rb"COBRE_TCP_RANK=(\d+)", environment.read())
                    if number and RANKS.encode() in command.read():
                        found[int(number.group(1))] = pid
            except OSError:
                continue  # it has ended meanwhile
        return found

    def agent_of(self, job, rank):
        pid = self.ranks_of(job)[rank]
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return int(stat.read().rsplit(")", 1)[1].split()[1])

    def test_ranks_on_other_hosts_that_will_not_end_are_killed_within_two_seconds(self):
        def refuse():
            job, seconds = self.run_and_time(f'test "$COBRE_TCP_RANK" = 3 && {{ {self.FAILS}; }}\n'
                                             "trap '' TERM; while :; do sleep 0.1; done")
            self.assertEqual(job.returncode, 7, job.stderr)
            self.expect_one_word(job.stderr,
                                 r"^cobre-comm: rank 3 of 4 \(pid \d+ on \S+\) ended with code 7; ending the others$")
            return seconds

        self.expect_within(2.0, refuse, least=1.0)  # they had their second

    def test_ranks_on_all_hosts_are_left_alone_then_asked_then_killed(self):
        self.expect_ending_in_steps(*self.TWO_NAMES)

    def test_ranks_that_end_badly_when_they_are_asked_to_are_not_the_first_that_failed(self):
        # The host with the failure is the last one to end: its other rank does not listen.
        job, _ = self.run_and_time(f'case "$COBRE_TCP_RANK" in 3) {self.FAILS};; 2) trap "" TERM;; *) trap "exit 1" TERM;;'
                                   " esac\nwhile :; do sleep 0.1; done")
        self.assertEqual(job.returncode, 7, job.stderr)
        self.expect_one_word(job.stderr, "rank 3 of 4 .* ended with code 7")

    def test_a_timeout_ends_the_job_on_all_hosts(self):
        job = run("run", *self.TWO_NAMES, "--timeout", 1, RANKS, "stuck", 1, env={**os.environ, "COBRE_TCP_SHARED_MEMORY": "0"})
        self.assertEqual(job.returncode, 124, job.stderr)
        # The host whose second is over first says so; what its ranks did ends the others.
        self.assertRegex(job.stderr, r"(?m)^cobre-comm: 2 of 2 ranks still run after 1 s \(--timeout\): .*; ending them$")

    def test_keep_going_leaves_the_other_hosts_alone(self):
        job, _ = self.run_and_time(f'test "$COBRE_TCP_RANK" = 3 && {{ {self.FAILS}; }}\nsleep 1.5; echo went on',
                                   "--keep-going")
        self.assertEqual((job.returncode, job.stdout.count("went on")), (7, 3), job.stderr)
        self.expect_one_word(job.stderr, "rank 3 of 4 .* ended with code 7; the others go on")

    def test_an_agent_that_does_not_listen_is_not_waited_for(self):
        def fail_beside_it():
            job = self.started("stuck", 1)
            stopped = self.agent_of(job, 2)
            everyone = descendants_of(job.pid)
            os.kill(stopped, signal.SIGSTOP)
            begin = time.monotonic()
            os.kill(self.ranks_of(job)[1], signal.SIGKILL)
            _, err = self.ended(job)
            seconds = time.monotonic() - begin
            self.assertEqual(job.returncode, 128 + 9, err)
            self.expect_one_word(err, r"rank 1 of 4 .* was killed by signal 9 \(SIGKILL\)")
            self.expect_gone(everyone)
            return seconds

        self.expect_within(2.0, fail_beside_it)

    def test_a_host_that_does_not_answer_any_more_is_named(self):
        job = self.started("stuck", 1)
        ranks = self.ranks_of(job)
        os.kill(self.agent_of(job, 2), signal.SIGSTOP)
        for rank in (2, 3):
            os.kill(ranks[rank], signal.SIGKILL)
        # Rank 1 communicates no more, so nobody but rank 0 knows.
        _, err = self.ended(job)
        self.assertEqual(job.returncode, 128 + 9, err)
        self.assertIn("cobre-comm: the agent on host localhost does not answer any more\n", err)

    def test_a_rank_that_somebody_else_asked_to_end_is_named(self):
        job = self.started("stuck", 1)
        os.kill(self.ranks_of(job)[2], signal.SIGTERM)
        _, err = self.ended(job)
        self.assertEqual(job.returncode, 128 + 15, err)
        self.expect_one_word(err, r"rank 2 of 4 .* was killed by signal 15 \(SIGTERM\)")

    def test_interrupting_the_job_gives_one_line(self):
        job = self.started("stuck", 1)
        job.send_signal(signal.SIGINT)
        _, err = self.ended(job)
        self.assertEqual(job.returncode, 128 + 2, err)
        self.expect_one_word(err, r"rank \d of 4 .* was killed by signal 2 \(SIGINT\)")


class OverSsh(CommandTest):
    """The client that users have, and a server of this test's own."""

    @classmethod
    def setUpClass(cls):
        folder = os.path.join(FOLDER, "ssh")
        os.makedirs(folder, exist_ok=True)
        # Debian's Python, because the module is Debian's.
        cls.server = subprocess.Popen(["/usr/bin/python3", "-W", "ignore",
                                       os.path.join(os.path.dirname(__file__), "ssh_server.py"), folder],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end_server)
        if cls.server.stdout.readline() != "ready\n":
            raise RuntimeError("the SSH server did not start")
        # --rsh is cut at spaces, so the client's configuration is reached through a file without any.
        cls.shell = os.path.join(FOLDER, "ssh_to_test")
        write_script(cls.shell, f'#!/bin/sh\nexec ssh -F "{folder}/ssh_config" "$@"\n')

    @classmethod
    def end_server(cls):
        cls.server.stdin.close()
        cls.server.wait(10)
        cls.server.stdout.close()

    def ssh(self, hosts="localhost:2,127.0.0.1:2"):
        return ["--rsh", self.shell, "--hosts", hosts]

    def test_ranks_of_all_hosts_are_one_group(self):
        job = run("run", *self.ssh(), RANKS, "sum")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {rank} of 4: 10" for rank in range(4)])

    def test_words_arrive_as_they_were_given(self):
        words = ["two words", "it's", '"quoted"', "$HOME", "*", "a;b", ""]
        job = run("run", *self.ssh("localhost:1"), "--", "printf", "[%s]", *words)
        self.assertEqual(job.stdout.strip(), "".join(f"[{word}]" for word in words), job.stderr)

    def test_the_failing_rank_is_named_once(self):
        job = run("run", *self.ssh(), RANKS, "kill", 9, 3, env={**os.environ, "COBRE_TCP_SHARED_MEMORY": "0"})
        self.assertEqual(job.returncode, 128 + 9, job.stderr)
        self.assertRegex(job.stderr, r"rank 3 of 4 \(pid \d+ on \S+\) was killed by signal 9 \(SIGKILL\) after barrier")
        self.assertEqual(job.stderr.count("(pid "), 1, job.stderr)

    def test_killing_the_launcher_leaves_no_orphan(self):
        job = start("run", *self.ssh(), RANKS, "spawn")
        everyone = [int(job.stdout.readline().split()[1]) for _ in range(4)]
        job.kill()
        job.communicate(timeout=20)
        self.expect_gone(everyone)

    def test_a_host_that_cannot_be_reached_is_named(self):
        job = run("run", "--rsh", "ssh -F none -p 1 -o BatchMode=yes", "--hosts", "127.0.0.1", RANKS, "sum")
        self.assertEqual(job.returncode, 255)
        self.assertIn("cobre-comm: the agent on host 127.0.0.1 ended with code 255", job.stderr)


if __name__ == "__main__":
    unittest.main()
