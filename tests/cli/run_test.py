"""cobre-comm run: what it starts, what comes out, and what it says when something goes wrong."""
import os
import pty
import re
import resource
import signal
import socket
import subprocess
import time
import unittest

from support import COMMAND, LIMIT, PAGE, RANKS, CommandTest, children_of, descendants_of, is_alive, run, start

HOST = socket.gethostname()
TCP = os.environ["COBRE_COMM_TEST_TCP"] == "ON"


def rank_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as environment:
        for entry in environment.read().split(b"\0"):
            if entry.startswith((b"COBRE_SHM_RANK=", b"COBRE_TCP_RANK=")):
                return int(entry.split(b"=")[1])
    return None


class Starting(CommandTest):
    def expect_sum(self, ranks, *options):
        job = run("run", "-n", ranks, *options, RANKS, "sum")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        total = ranks * (ranks + 1) // 2
        self.assertEqual(sorted(job.stdout.splitlines()), sorted(f"rank {r} of {ranks}: {total}" for r in range(ranks)))

    def test_any_number_of_ranks_makes_one_group(self):
        for ranks in (1, 2, 3, 5, 8):
            with self.subTest(ranks=ranks):
                self.expect_sum(ranks)

    def test_many_more_ranks_than_cores_are_no_problem(self):
        self.expect_sum(64)

    def test_ranks_may_be_bound_to_cores_and_to_numa_domains(self):
        self.expect_sum(3, "--bind", "core")
        self.expect_sum(3, "--bind", "numa")
        seen = run("run", "-n", 2, "--bind", "core", "--", "sh", "-c", "grep Cpus_allowed_list /proc/self/status")
        allowed = sorted(os.sched_getaffinity(0))
        expected = [allowed[rank % len(allowed)] for rank in range(2)]
        self.assertEqual(sorted(int(line.split()[1]) for line in seen.stdout.splitlines()), sorted(expected))

    def test_without_a_number_there_is_a_rank_for_each_core(self):
        cores = len(os.sched_getaffinity(0))  # at least as many as it has cores and quota
        job = run("run", RANKS, "sum")
        self.assertEqual(job.returncode, 0)
        self.assertLessEqual(1, len(job.stdout.splitlines()))
        self.assertLessEqual(len(job.stdout.splitlines()), cores)
        one = min(os.sched_getaffinity(0))
        job = run("run", RANKS, "sum", preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        self.assertEqual(job.stdout, "rank 0 of 1: 1\n")

    def test_the_local_backend_is_one_process(self):
        job = run("run", "--backend", "local", RANKS, "sum")
        self.assertEqual((job.returncode, job.stdout), (0, "rank 0 of 1: 1\n"))

    def test_jobs_at_the_same_time_do_not_meet(self):
        jobs = [start("run", "-n", 2, RANKS, "sum") for _ in range(4)]
        for job in jobs:
            self.assertEqual(sorted(self.ended(job)[0].splitlines()), ["rank 0 of 2: 3", "rank 1 of 2: 3"])

    def test_arguments_after_the_program_are_the_programs(self):
        job = run("run", "-n", 1, "echo", "-n", "2", "--tag", "--", "x")
        self.assertEqual((job.returncode, job.stdout), (0, "2 --tag -- x"))  # echo's -n: no newline
        job = run("run", "-n", 1, "--", "echo", "--tag")
        self.assertEqual(job.stdout, "--tag\n")


class Usage(CommandTest):
    def expect_refusal(self, words, *arguments, **how):
        job = run(*arguments, **how)
        self.assertEqual((job.returncode, job.stdout), (2, ""), arguments)
        self.assertEqual(len(job.stderr.splitlines()), 1, job.stderr)
        self.assertIn(words, job.stderr)

    def test_what_cannot_be_is_one_clear_line_and_code_2(self):
        self.expect_refusal("at least one rank", "run", "-n", 0, RANKS)
        self.expect_refusal("--frobnicate", "run", "--frobnicate", RANKS)
        self.expect_refusal("no program", "run", "-n", 2)
        self.expect_refusal("there is no program 'no-such-program-here' in PATH", "run", "no-such-program-here")
        self.expect_refusal("No such file", "run", "./no/such/file")
        self.expect_refusal("is a folder", "run", "/tmp")
        self.expect_refusal("chmod +x", "run", __file__)
        self.expect_refusal("one process", "run", "-n", 2, "--backend", "local", RANKS)
        self.expect_refusal("--backend: 'carrier-pigeon' is none of auto, shm, tcp, mpi, local",
                            "run", "--backend", "carrier-pigeon", RANKS)
        self.expect_refusal("--ranks", "run", "-n", "many", RANKS)
        self.expect_refusal("--ranks", "run", "-n", "-3", RANKS)
        self.expect_refusal("at most 128", "run", "-n", 1000, RANKS)
        self.expect_refusal("--timeout: '-1' is no number of seconds", "run", "--timeout", "-1", RANKS)
        self.expect_refusal("--timeout: 'soon' is no number of seconds", "run", "--timeout", "soon", RANKS)
        self.expect_refusal("--bind: 'moon' is none of none, core, numa", "run", "--bind", "moon", RANKS)
        self.expect_refusal("is no number of ranks", "run", "-n", "9" * 30, RANKS)
        self.expect_refusal("there is no command 'fly', only run, info and bench", "fly")
        self.expect_refusal("at most 1024", "run", "--backend", "tcp", "-n", 999999999, RANKS)
        self.expect_refusal("-n 2000: at most 1024", "run", "--hosts", "a:1000,b:1000", "--dry-run", RANKS)
        self.expect_refusal("see ulimit -n", "run", "--hosts", ",".join(f"h{i}" for i in range(100)), RANKS,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))
        self.expect_refusal("see ulimit -n", "run", "-n", 100, RANKS,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))

    def test_the_pages_and_the_help_have_the_same_options(self):
        sections = dict(re.findall(r"^## (run|info)\n(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8"), re.M | re.S))
        sections["bench"] = (PAGE.parent / "bench.md").read_text(encoding="utf-8")
        for command, page in sections.items():
            with self.subTest(command=command):
                offered = re.findall(r"^ +(-\S+)", run(command, "--help").stdout, re.M)
                offered = set(re.findall(r"--[\w-]+", " ".join(offered))) - {"--help"}
                self.assertGreater(len(offered), 1)
                told = re.findall(r"^\| (`-.*?) \|", page, re.M)
                self.assertEqual(set(re.findall(r"--[\w-]+", " ".join(told))), offered)

    def test_the_page_and_the_help_have_every_word_that_an_option_takes(self):
        page = dict(re.findall(r"^\| `(--\w+)`.*? \| (.*) \|$", PAGE.read_text(encoding="utf-8"), re.M))
        text = re.sub(r"\n {10,}", " ", run("run", "--help").stdout)  # a long line goes on further in
        for option in ("--backend", "--bind", "--color"):
            words = run("run", option, "moon", RANKS).stderr.strip().partition("is none of ")[2].split("; ")[0].split(", ")
            self.assertGreater(len(words), 2)
            shown = re.search(rf"^ +\S*{option}\b.*$", text, re.M).group()
            for word in words:
                self.assertIn(f"`{word}`", page[option], option)
                self.assertRegex(shown, rf"\b{word}\b")

    def test_a_file_that_cannot_be_executed_is_code_2(self):
        file = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], "not_a_program")
        with open(file, "wb") as out:
            out.write(b"\x7fELF and then something else")
        os.chmod(file, 0o755)
        job = run("run", "-n", 2, file)
        self.assertEqual(job.returncode, 2)
        self.assertIn("cannot execute", job.stderr)
        self.assertEqual(len(job.stderr.splitlines()), 1, job.stderr)

    def test_help_shows_examples(self):
        job = run("run", "--help")
        self.assertEqual(job.returncode, 0)
        self.assertIn("cobre-comm run -n 4 ./app", job.stdout)
        self.assertRegex(run("--version").stdout, r"^cobre-comm \d+\.\d+\.\d+\n$")


class Output(CommandTest):
    def test_lines_of_many_ranks_are_never_mixed(self):
        job = run("run", "-n", 8, RANKS, "shout", 50, 3000)
        self.assertEqual(job.returncode, 0)
        for stream in (job.stdout, job.stderr):
            lines = stream.splitlines()
            self.assertEqual(len(lines), 8 * 50)
            for line in lines:
                self.assertEqual((len(line), len(set(line))), (3000, 1))

    def test_lines_of_both_streams_are_not_mixed_where_they_are_one_pipe(self):
        for bytes in (3000, 30000):  # below what a pipe takes at once, and above
            job = run("run", "-n", 4, RANKS, "shout", 50, bytes, capture_output=False, stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT)
            self.assertEqual(job.returncode, 0)
            lines = job.stdout.splitlines()
            self.assertEqual(len(lines), 4 * 50 * 2)
            self.assertEqual({(len(line), len(set(line))) for line in lines}, {(bytes, 1)})

    def test_tags_say_which_rank_wrote_a_line(self):
        job = run("run", "-n", 3, "--tag", RANKS, "shout", 5, 10)
        for stream in (job.stdout, job.stderr):
            for line in stream.splitlines():
                self.assertRegex(line, r"^\[[012]\] ([abc])\1*$")
                self.assertEqual(ord(line[4]) - ord("a"), int(line[1]))
        tags = {line[:5] for line in run("run", "-n", 11, "--tag", RANKS, "sum").stdout.splitlines()}
        self.assertEqual(tags, {f"[{rank:2}] " for rank in range(11)})

    def test_colours_are_for_terminals_and_for_those_who_ask(self):
        self.assertNotIn("\x1b", run("run", "-n", 2, "--tag", RANKS, "sum").stdout)
        self.assertIn("\x1b[36m[0]\x1b[0m rank 0", run("run", "-n", 2, "--color", "always", RANKS, "sum").stdout)

    def test_a_last_line_without_an_end_is_still_a_line(self):
        job = run("run", "-n", 3, "printf", "half")
        self.assertEqual(job.stdout, "half\n" * 3)

    def test_a_slow_reader_loses_nothing(self):
        job = start("run", "-n", 2, RANKS, "shout", 400, 8000, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        out, _ = job.communicate(timeout=LIMIT)
        self.assertEqual(len(out.splitlines()), 800)

    def test_a_reader_that_leaves_ends_the_job_quietly(self):
        out = subprocess.run(f"'{COMMAND}' run -n 2 yes | head -n 3", shell=True, capture_output=True, text=True,
                             timeout=LIMIT, check=False)
        self.assertEqual((out.stdout, out.stderr), ("y\n" * 3, ""))

    def test_input_goes_to_rank_0_alone(self):
        job = run("run", "-n", 3, RANKS, "echo", input="one\ntwo\n")
        self.assertEqual((job.returncode, job.stdout), (0, "rank 0 read one\nrank 0 read two\n"))

    def test_it_works_on_a_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(COMMAND, [COMMAND, "run", "-n", "2", "--tag", RANKS, "echo"])
        os.write(terminal, b"typed\n\x04")
        seen = b""
        while True:
            try:
                part = os.read(terminal, 4096)
            except OSError:
                break  # the other side is gone
            if not part:
                break
            seen += part
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, seen)
        self.assertIn(b"\x1b[36m[0]\x1b[0m rank 0 read typed", seen)

    def test_interrupting_on_a_terminal_ends_the_job(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(COMMAND, [COMMAND, "run", "-n", "2", RANKS, "stuck", "1"])
        self.wait_until(lambda: len(children_of(pid)) == 3, "the ranks did not start")
        ranks = descendants_of(pid)
        time.sleep(0.2)
        os.write(terminal, b"\x03")
        try:
            while os.read(terminal, 4096):
                pass
        except OSError:
            pass
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 128 + signal.SIGINT)
        self.expect_gone(ranks)


class Failing(CommandTest):
    def run_and_time(self, *arguments):
        begin = time.monotonic()
        job = run(*arguments)
        return job, time.monotonic() - begin

    def last_word(self, job):
        lines = [line for line in job.stderr.splitlines() if line.startswith("cobre-comm: rank") and "(pid" in line]
        self.assertEqual(len(lines), 1, job.stderr)
        return lines[0]

    def test_the_exit_code_is_that_of_the_rank_that_failed(self):
        for ranks, chosen in ((1, 0), (2, 1), (5, 3)):
            def fail(ranks=ranks, chosen=chosen):
                job, seconds = self.run_and_time("run", "-n", ranks, RANKS, "fail", 7, chosen)
                self.assertEqual(job.returncode, 7, job.stderr)
                self.assertRegex(self.last_word(job), rf"rank {chosen} of {ranks} \(pid \d+ on {re.escape(HOST)}\) "
                                                      r"ended with code 7 after barrier")
                return seconds

            with self.subTest(ranks=ranks):
                self.expect_within(2.5, fail)

    def test_a_rank_that_is_killed_is_named_with_its_signal_and_operation(self):
        for number in (signal.SIGKILL, signal.SIGABRT):  # sanitizers make another end of SIGSEGV
            def kill(number=number):
                job, seconds = self.run_and_time("run", "-n", 4, RANKS, "kill", int(number), 2)
                self.assertEqual(job.returncode, 128 + number, job.stderr)
                self.assertRegex(self.last_word(job), rf"rank 2 of 4 .* was killed by signal {int(number)} "
                                                      rf"\({number.name}\) after barrier")
                self.expect_as_on_the_page(self.last_word(job))
                return seconds

            self.expect_within(2.5, kill)

    def test_a_rank_killed_from_outside_is_named_with_the_operation_that_it_was_in(self):
        job = start("run", "-n", 3, RANKS, "stuck", 0)
        self.assertEqual(job.stdout.readline(), "stuck\n")
        victims = [pid for pid in children_of(job.pid) if rank_of(pid) == 2]
        self.wait_for_rest(victims[0])
        os.kill(victims[0], signal.SIGKILL)
        _, err = self.ended(job)
        self.assertIn("rank 2 of 3", err)
        self.assertRegex(err, r"in allreduce of 1 x double with Max(; ending the other [12])?\n")

    def test_a_rank_killed_while_it_waits_for_a_message_is_named_with_that(self):
        for what, words in (("recv", "in recv from rank 0 with tag 7"), ("send", "in send to rank 0 with tag 8")):
            for backend in ("shm", "tcp")[:2 if TCP else 1]:
                job = start("run", "-n", 3, "--backend", backend, RANKS, what, 2, env=os.environ | {"COBRE_TCP_SHARED_MEMORY": "0"})
                self.assertEqual(job.stdout.readline(), f"{what}\n")
                victims = [pid for pid in children_of(job.pid) if rank_of(pid) == 2]
                self.wait_for_rest(victims[0])
                os.kill(victims[0], signal.SIGKILL)
                _, err = self.ended(job)
                with self.subTest(what=what, backend=backend):
                    self.assertEqual(job.returncode, 128 + 9, err)
                    self.assertRegex(err, rf"rank 2 of 3 .* was killed by signal 9 \(SIGKILL\) {words}[;\n]")

    def test_an_exception_is_told_by_the_rank_and_by_the_launcher(self):
        def throw():
            job, seconds = self.run_and_time("run", "-n", 3, RANKS, "throw", 1)
            self.assertEqual(job.returncode, 1)
            self.assertIn("cobre-comm: rank 1 of 3 failed: the sky fell", job.stderr)
            self.assertRegex(self.last_word(job), r"rank 1 of 3 .* ended with code 1 before its first operation")
            return seconds

        self.expect_within(2.5, throw)

    def test_a_program_without_a_communicator_is_told_by_its_code(self):
        job = run("run", "-n", 2, "--", "sh", "-c", 'test "$COBRE_SHM_RANK" = 0 || exit 3; sleep 20')
        self.assertEqual(job.returncode, 3)
        self.assertRegex(self.last_word(job), r"rank 1 of 2 \(pid \d+ on \S+\) ended with code 3; ending the other 1$")

    def test_ranks_that_will_not_end_are_killed_within_two_seconds(self):
        def refuse():
            job, seconds = self.run_and_time("run", "-n", 4, RANKS, "deaf", 1)
            self.assertEqual(job.returncode, 5)
            deaf = [int(line.split()[1]) for line in job.stdout.splitlines()]
            self.assertEqual(len(deaf), 4)
            self.expect_gone(deaf, 0.1)
            return seconds

        self.expect_within(2.4, refuse, least=1.0)  # they had their second, and took a moment to start

    def test_the_others_are_left_alone_then_asked_then_killed(self):
        self.expect_ending_in_steps("-n", 4)

    def test_keep_going_leaves_the_others_alone(self):
        job = run("run", "-n", 3, "--keep-going", "--", "sh", "-c",
                  'test "$COBRE_SHM_RANK" = 1 && exit 4; sleep 1.5; echo went on')
        self.assertEqual((job.returncode, job.stdout), (4, "went on\nwent on\n"))
        self.assertIn("ended with code 4; the others go on", job.stderr)

    def test_a_timeout_says_who_was_where(self):
        def be_stuck():
            job, seconds = self.run_and_time("run", "-n", 3, "--timeout", 3, RANKS, "stuck", 1)
            self.assertEqual(job.returncode, 124)
            self.assertIn("3 of 3 ranks still run after 3 s (--timeout): rank 1 after barrier, "
                          "ranks 0 and 2 in allreduce of 1 x double with Max; ending them", job.stderr)
            self.expect_as_on_the_page(next(line for line in job.stderr.splitlines() if "still run" in line))
            return seconds

        self.expect_within(5, be_stuck, least=3.0)


class InParts(CommandTest):
    """Where a rank was is told of every communicator, and its name is the one that it has in the job."""

    BACKENDS = [("shm", "0"), ("tcp", "0"), ("tcp", "1")][:3 if TCP else 1]  # and whether tcp uses shared memory

    def expect(self, words, *arguments, backends=BACKENDS, on_the_page=False):
        """What the launcher says of rank 2 of 4, killed when it says that it is there and has come to rest."""
        for backend, shares in backends:
            job = start("run", "-n", 4, "--backend", backend, RANKS, *arguments, 2,
                        env=os.environ | {"COBRE_TCP_SHARED_MEMORY": shares})
            self.assertEqual(job.stdout.readline(), "there\n")
            victim = next(pid for pid in children_of(job.pid) if rank_of(pid) == 2)
            self.wait_for_rest(victim)
            os.kill(victim, signal.SIGKILL)
            _, err = self.ended(job)
            self.assertEqual(job.returncode, 128 + 9, err)
            lines = re.findall(r"^cobre-comm: (.*) \(pid \d+ on \S+\) was killed by signal 9 \(SIGKILL\) (.*?)(?:; ending .*)?$",
                               err, re.MULTILINE)
            self.assertEqual(len(lines), 1, err)
            self.assertEqual(lines[0][0], "rank 2 of 4", err)
            with self.subTest(backend=backend, shares=shares, arguments=arguments):
                self.assertEqual(lines[0][1], words)
                if on_the_page:
                    self.expect_as_on_the_page(re.search(r"^cobre-comm: rank 2 of 4 .*$", err, re.MULTILINE)[0])

    def test_a_collective_there_is_named(self):
        self.expect("in barrier of a communicator of 2 ranks made by split", "part", "split", "barrier")
        self.expect("in allreduce of 1 x double with Max of a communicator of 4 ranks made by duplicate",
                    "part", "duplicate", "allreduce")

    def test_a_root_is_named_as_it_is_called_there(self):
        self.expect("in broadcast of 3 x double from root 1 of a communicator of 2 ranks made by split, where it is rank 0",
                    "part", "split", "broadcast")

    def test_so_is_the_peer_of_a_message(self):
        self.expect("in recv from rank 3 with tag 7 of a communicator of 4 ranks made by duplicate, where it is rank 2",
                    "part", "duplicate", "recv")

    def test_a_part_of_a_part_is_no_different(self):
        self.expect("in recv from rank 1 with tag 7 of a communicator of 2 ranks made by split, where it is rank 0",
                    "part", "nested", "recv", on_the_page=True)

    def test_the_ranks_of_a_node_are_named_with_how_they_are_had(self):
        self.expect("in barrier of a communicator of 4 ranks made by node", "part", "node", "barrier")
        # Where they share no memory each is alone there, and has nobody to wait for.
        sharing = [one for one in self.BACKENDS if one != ("tcp", "0")]
        self.expect("in barrier of a communicator of 4 ranks made by split_local", "part", "local", "barrier", backends=sharing)

    def test_between_two_operations_the_last_one_is_named_wherever_it_was(self):
        self.expect("after barrier of a communicator of 2 ranks made by split", "part", "split", "between")
        self.expect("after barrier of a communicator of 4 ranks made by duplicate", "gone")

    def test_an_operation_that_nobody_waits_for_is_under_way(self):
        self.expect("after barrier, with nonblocking allreduce of 1 x double with Sum under way", "aside")

    def test_a_timeout_names_it_too(self):
        jobs = [start("run", "-n", 4, "--backend", backend, "--timeout", 4, RANKS, "part", "split", "barrier", 2,
                      env=os.environ | {"COBRE_TCP_SHARED_MEMORY": shares}) for backend, shares in self.BACKENDS[:2]]
        for job in jobs:
            _, err = self.ended(job)
            self.assertEqual(job.returncode, 124, err)
            self.assertIn("cobre-comm: 4 of 4 ranks still run after 4 s (--timeout): rank 2 in barrier of a communicator of 2 ranks "
                          "made by split, ranks 0, 1 and 3 in barrier; ending them\n", err)

    def test_more_communicators_than_are_noted_are_not_passed_over(self):
        self.expect("after duplicate, or in one of 3 communicators more than the 32 that it keeps notes of", "many", 35)


class Signalled(CommandTest):
    def test_signals_go_to_every_rank(self):
        job = start("run", "-n", 3, RANKS, "signal")
        ready = [job.stdout.readline() for _ in range(3)]
        self.assertEqual(ready, ["ready\n"] * 3)
        job.send_signal(signal.SIGUSR1)
        out, _ = self.ended(job)
        self.assertEqual(sorted(out.splitlines()), [f"rank {rank} got it" for rank in range(3)])
        self.assertEqual(job.returncode, 0)

    def expect_no_orphans(self, end, *arguments):
        job = start("run", "-n", 4, *arguments)
        lines = [job.stdout.readline() for _ in range(4)]
        everyone = descendants_of(job.pid)
        self.assertGreaterEqual(len(everyone), 5)  # and the keeper
        everyone += [int(line.split()[1]) for line in lines]
        end(job)
        job.communicate(timeout=LIMIT)
        self.expect_gone(everyone)

    def test_killing_the_launcher_leaves_no_orphan_however_it_is_killed(self):
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number.name):
                self.expect_no_orphans(lambda job, number=number: job.send_signal(number), RANKS, "spawn")

    def test_asking_twice_kills_ranks_that_do_not_listen(self):
        def ask_twice(job):
            job.terminate()
            time.sleep(0.3)
            self.assertTrue(is_alive(job.pid))
            job.terminate()

        self.expect_no_orphans(ask_twice, RANKS, "deaf")

    def test_what_a_rank_left_behind_ends_with_the_job(self):
        job = run("run", "-n", 2, "--", "sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!")
        self.assertEqual(job.returncode, 0)
        self.expect_gone(list(map(int, job.stdout.split())), 0.5)

    def test_a_stopped_job_stops_as_a_whole_and_goes_on(self):
        job = start("run", "-n", 2, RANKS, "stuck", 1)
        # Until they are who they will be, all of them are called as the launcher.
        self.wait_until(lambda: len(children_of(job.pid)) == 3 and
                        all(self.state(pid)[1] != "cobre-comm" for pid in children_of(job.pid)), "the ranks did not start")
        ranks = [pid for pid in children_of(job.pid) if self.state(pid)[1] != "cobre-keeper"]
        job.send_signal(signal.SIGTSTP)
        self.wait_until(lambda: all(self.state(pid)[0] == "T" for pid in [job.pid, *ranks]), "not all stopped")
        job.send_signal(signal.SIGCONT)
        self.wait_until(lambda: not any(self.state(pid)[0] == "T" for pid in [job.pid, *ranks]), "not all went on")
        job.terminate()
        self.ended(job)
        self.assertEqual(job.returncode, 128 + signal.SIGTERM)

    @staticmethod
    def state(pid):
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            name, rest = stat.read().split("(", 1)[1].rsplit(")", 1)
        return rest.split()[0], name


class Closed(CommandTest):
    @staticmethod
    def sockets_of(pid):
        links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
        return {link[len("socket:["):-1] for link in links if link.startswith("socket:[")}

    @staticmethod
    def listening():
        """The numbers of all sockets of this machine at which anybody could knock."""
        found = set()
        with open("/proc/net/unix", encoding="utf-8") as table:
            found |= {row.split()[6] for row in list(table)[1:] if int(row.split()[3], 16) & 0x10000}
        for family in ("tcp", "tcp6"):
            with open(f"/proc/net/{family}", encoding="utf-8") as table:
                found |= {row.split()[9] for row in list(table)[1:] if row.split()[3] == "0A"}
        return found

    def test_a_job_that_runs_has_no_door_and_neither_has_its_launcher(self):
        with socket.socket() as control:
            control.listen()
            self.assertTrue(self.sockets_of(os.getpid()) & self.listening(), "the look is blind")
        job = start("run", "-n", 3, RANKS, "signal")
        for _ in range(3):
            self.assertEqual(job.stdout.readline(), "ready\n")
        sockets = set().union(*(self.sockets_of(pid) for pid in [job.pid, *descendants_of(job.pid)]))
        self.assertTrue(sockets, "ranks hold each other's lines")
        self.assertEqual(sockets & self.listening(), set())
        job.send_signal(signal.SIGUSR1)
        self.ended(job)
        self.assertEqual(job.returncode, 0)


if __name__ == "__main__":
    unittest.main()
