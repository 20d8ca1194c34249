"""cobre-comm bench: small sizes, few rounds; what it says, not how fast anything is."""
import json
import os
import re
import shutil
import signal
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

from terminal import drawn_on_terminal  # noqa: E402
from support import COMMAND, LIMIT, CommandTest, descendants_of, run, start, write_script  # noqa: E402

FOLDER = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], f"bench-{os.getpid()}")
BARS = os.path.join(os.path.dirname(__file__), "../../bench/bars.json")
WITHOUT_THREADS = os.path.join(os.environ["COBRE_COMM_TEST_FOLDER"], "cli_mpi_without_threads.so")
FAST = ["bench", "--effort", "0.005"]
QUICK = [*FAST, "--rounds", "1"]
FIELDS = ["op", "backend", "ranks", "bytes", "median_us", "p99_us", "min_us", "limit_us"]
MPI_PEERS = ("openmpi", "mpich", "openmpi-tcp", "boost-mpi")


def setUpModule():
    os.makedirs(FOLDER, exist_ok=True)
    unittest.addModuleCleanup(shutil.rmtree, FOLDER, ignore_errors=True)


def file(name):
    return os.path.join(FOLDER, name)


def load(name):
    with open(file(name), encoding="utf-8") as text:
        return json.load(text)


class Installing(CommandTest):
    def install(self, *programs):
        """A copy of the command that finds these programs and no others; and where it looks for them."""
        prefix = file(self.id())
        folder = os.path.join(prefix, "libexec", "cobre-comm")
        os.makedirs(os.path.join(prefix, "bin"))
        os.makedirs(folder)
        for name in programs:
            self.install_real(folder, name)
        return shutil.copy(COMMAND, os.path.join(prefix, "bin")), folder

    def install_real(self, folder, name):
        shutil.copy(os.path.join(os.path.dirname(COMMAND), "../../bench/peers", f"cobre-bench-{name}"), folder)

    def install_fake(self, folder, name, *lines):
        """A program of that name that does what the lines of a shell script say."""
        write_script(os.path.join(folder, f"cobre-bench-{name}"), "\n".join(("#!/bin/sh", *lines)) + "\n")


class Measuring(Installing):
    def test_every_backend_and_every_peer_has_a_record_for_each_point(self):
        job = run(*QUICK, "--ops", "allreduce", "--sizes", "8,1K", "--ranks", 2, "--json", file("all.json"), timeout=90)
        self.assertEqual(job.returncode, 0, job.stderr + job.stdout)
        document = load("all.json")
        self.assertEqual(list(document)[0], "machine")
        self.assertGreaterEqual(document["machine"]["usable_cores"], 1)
        self.assertEqual(document["absent"], [], "tools/dev/packages.txt has all peers")
        records = document["records"]
        of_two = {(r["backend"], r["bytes"]) for r in records if r["ranks"] == 2}
        ours, peers = ("shm", "tcp", "tcp-sockets", "mpi"), (*MPI_PEERS, "gloo")
        self.assertEqual(of_two, {(name, bytes) for name in ours + peers for bytes in (8, 1024)})
        self.assertIn("local", {r["backend"] for r in records if r["ranks"] == 1})
        for record in records:
            self.assertEqual(list(record)[: len(FIELDS)], FIELDS)
            self.assertEqual(record["op"], "allreduce")
            self.assertLessEqual(record["min_us"], record["median_us"])
            self.assertLessEqual(record["median_us"], record["p99_us"])
            self.assertGreater(record["limit_us"], 0)
            self.assertIn(record["thread_level"], ("single", "multiple") if record["backend"] in (*MPI_PEERS, "mpi") else (None,))
            self.assertRegex(job.stdout, rf"(?m)\s{record['backend']} ")
        self.assertRegex(job.stdout, r"(?m)^The hardware: flag_exchange \S+, line_handover \S+, loopback \S+ microseconds; "
                                     r"add \S+, loopback_stream \S+, memcpy \S+, readv \S+ GB/s$")

    def test_a_ratio_is_that_to_the_best_comparable_peer(self):
        job = run(*QUICK, "--ops", "broadcast", "--sizes", "64K", "--ranks", 2, "--backends", "shm,tcp-sockets", "--peers",
                  "openmpi,openmpi-tcp,gloo", "--json", file("ratio.json"))
        self.assertEqual(job.returncode, 0, job.stderr)
        records = {r["backend"]: r for r in load("ratio.json")["records"]}
        for own, peers in {"shm": ("openmpi", "openmpi-tcp", "gloo"), "tcp-sockets": ("openmpi-tcp", "gloo")}.items():
            best = min(peers, key=lambda name: records[name]["median_us"])
            self.assertEqual(records[own]["best_peer"], best)
            self.assertAlmostEqual(records[own]["ratio"], records[best]["median_us"] / records[own]["median_us"], places=6)
        self.assertIsNone(records["gloo"]["ratio"])

    def test_every_operation_runs_with_odd_rank_counts_and_more_ranks_than_cores(self):
        moving = ("broadcast", "allreduce", "allgatherv", "regions", "reduce", "gather", "gatherv", "scatter", "scatterv", "allgather",
                  "alltoall", "alltoallv", "scan", "exscan", "reduce_scatter_block", "message")
        job = run(*QUICK, "--ops", ",".join(("barrier", *moving)), "--sizes", "8,24", "--ranks", "3",
                  "--backends", "shm,tcp-sockets", "--peers", "none", "--json", file("odd.json"), timeout=60)
        self.assertEqual(job.returncode, 0, job.stderr)
        document = load("odd.json")
        points = {(r["op"], r["bytes"]) for r in document["records"]}
        self.assertEqual(points, {("barrier", 0)} | {(op, bytes) for op in moving for bytes in (8, 24)})
        self.expect_limits(document, 3)

    def test_what_only_plain_mpi_has_beside_ours_runs_there_with_right_data(self):
        ops = ("allgather", "exscan", "reduce_scatter_block")
        job = run(*QUICK, "--ops", ",".join(ops), "--sizes", "48", "--ranks", 2, "--backends", "shm", "--peers",
                  "openmpi,mpich,openmpi-tcp,gloo", "--json", file("plain.json"), timeout=60)
        self.assertEqual(job.returncode, 0, job.stderr + job.stdout)
        document = load("plain.json")
        self.assertEqual({(r["op"], r["backend"]) for r in document["records"]},
                         {(op, name) for op in ops for name in ("shm", "openmpi", "mpich", "openmpi-tcp")})
        self.assertEqual([(one["name"], one["because"]) for one in document["absent"]],
                         [("gloo", f"not measured in {op}: that is for ours and for plain MPI") for op in ops])

    def expect_limits(self, document, ranks):
        """That 24 bytes are held against the least work, done by the cores that there are, and the least waiting."""
        of = {(one["what"], one["bytes"]): one["us"] for one in document["limits"]}
        cores = document["machine"]["usable_cores"]
        flag, line, answer = of["flag_exchange", 0], of["line_handover", 0], of["loopback", 8]
        each = ranks / min(ranks, cores)  # what every rank does, by fewer cores
        copy = {size: min(of["memcpy", size], of["readv", size]) for size in (8, 24)}
        copies, part, adds = each * copy[24], each * copy[8], each * (ranks - 1) * of["add", 8]
        in_memory = {
            "broadcast": max(line, copies * (ranks - 1) / ranks), "allgatherv": max(2 * flag, copies), "alltoall": max(2 * flag, copies),
            "gather": max(line, part), "scatter": max(line, part), "reduce": max(line, adds), "scan": max(line, adds + part),
            "allreduce": max(2 * flag, adds + (ranks - 1) * part), "message": max(flag, copy[24] / min(2, cores)),
            "exscan": max(line, adds * (ranks - 2) / (ranks - 1) + part), "reduce_scatter_block": max(2 * flag, adds),
        }
        to_all, foreign, own = of["loopback_stream", 32], of["loopback_stream", 16], of["loopback_stream", 24]
        through_sockets = {
            "broadcast": own, "reduce": own, "scan": own, "gather": foreign, "scatter": foreign, "allgatherv": max(2 * answer, foreign),
            "alltoall": max(2 * answer, foreign), "allreduce": max(2 * answer, to_all), "message": max(answer, own),
            "exscan": own, "reduce_scatter_block": max(2 * answer, foreign),
        }
        for least in (in_memory, through_sockets):
            least.update({f"{op}v": least[op] for op in ("gather", "scatter", "alltoall")}, allgather=least["allgatherv"])
        for record in document["records"]:
            self.assertGreater(record["limit_us"], 0, record)
            least = (through_sockets if record["backend"] == "tcp-sockets" else in_memory).get(record["op"])
            if record["bytes"] == 24 and least is not None:
                self.assertAlmostEqual(record["limit_us"] / least, 1, places=3, msg=record)

    def test_what_is_below_its_bar_is_marked(self):
        with open(file("bars.json"), "w", encoding="utf-8") as out:
            json.dump({"bars": [{"backend": "shm", "op": "barrier", "against": ["openmpi"], "ratios": {"any": bar}}
                                for bar in (0.001, 1e6)]}, out)
        job = run(*QUICK, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "openmpi", "--bars",
                  file("bars.json"), "--json", file("marked.json"))
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertRegex(job.stdout, r"(?m)^barrier +0  shm .* of 1000000 <- below its bar$")
        record = load("marked.json")["records"][0]
        self.assertEqual((record["bar"]["against"], record["bar"]["bar"], record["loses"]), ("openmpi", 1e6, True))

    def test_a_bar_against_one_of_ours_excuses_nobody_from_being_slower_than_a_peer(self):
        command, programs = self.install("ours", "limits")
        self.install_fake(programs, "gloo", "echo barrier 0 0.0001")
        with open(file("low.json"), "w", encoding="utf-8") as out:
            json.dump({"bars": [{"backend": "tcp", "op": "barrier", "against": ["shm"], "ratios": {"any": 1e-6}},
                                {"backend": "shm", "op": "barrier", "against": ["gloo"], "ratios": {"any": 1e-12}}]}, out)
        job = run(*QUICK, "--ops", "barrier", "--ranks", 2, "--backends", "shm,tcp", "--peers", "gloo", "--bars", file("low.json"),
                  "--json", file("excused.json"), command=command)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual({r["backend"]: r["loses"] for r in load("excused.json")["records"]}, {"shm": False, "tcp": True, "gloo": False})
        self.assertRegex(job.stdout, r"(?m)^ +tcp .* of 0.00  <- slower$")

    def test_a_peer_that_is_not_installed_is_named_as_such(self):
        command, programs = self.install("ours", "limits")
        job = run(*QUICK, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "mpich", command=command)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertIn(f"mpich: not installed: cobre-bench-mpich is not in {programs}; -DCOBRE_COMM_BENCH_PEERS=ON builds it where "
                      "the Debian package libmpich-dev is", job.stdout)

    def test_a_peer_with_wrong_data_fails_the_run_and_is_named(self):
        command, programs = self.install("ours", "limits")
        self.install_fake(programs, "gloo", "echo 'a launcher says something'", "echo 'rank 1: wrong data in barrier' >&2", "exit 1")
        job = run(*QUICK, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "gloo", command=command)
        self.assertEqual(job.returncode, 1, job.stderr)
        self.assertRegex(job.stdout, r"(?m)^barrier +0  shm ")
        self.assertIn("\ngloo: ended with code 1: rank 1: wrong data in barrier in barrier with 2 ranks\n", job.stdout)

    def test_programs_that_are_missing_are_named_with_where_they_were_looked_for(self):
        command, _ = self.install()
        job = run("bench", command=command)
        self.assertEqual((job.returncode, job.stdout), (2, ""))
        self.assertIn("cobre-bench-ours is neither in ", job.stderr)
        self.assertIn("it comes with cobre-comm: install both again", job.stderr)


    def test_a_failure_that_the_stored_run_had_too_is_nothing_new(self):
        command, programs = self.install("ours", "limits")
        self.install_fake(programs, "gloo", "echo 'rank 1: wrong data in barrier' >&2", "exit 1")
        words = [*QUICK, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "gloo,boost-mpi"]
        self.install_real(programs, "boost-mpi")
        self.assertEqual(run(*words, "--json", file("failing.json"), command=command).returncode, 1)
        stored = load("failing.json")
        stored["records"][0]["ratio"] = 1e-6  # whatever it is now, it is better
        for known, code in ((True, 0), (False, 1)):
            stored["absent"] = stored["absent"] if known else []
            with open(file("failed_before.json"), "w", encoding="utf-8") as out:
                json.dump(stored, out)
            job = run("bench", "--check", file("failed_before.json"), command=command)
            self.assertEqual(job.returncode, code, job.stdout)
            self.assertIn("wrong data in barrier in barrier with 2 ranks", job.stdout)


class Method(Installing):
    def test_contestants_take_turns_in_every_round(self):
        command, programs = self.install()
        order = file("order")
        self.install_fake(programs, "limits")
        for name in ("ours", "gloo"):  # of ours, two ranks are started
            self.install_fake(programs, name, f'[ "${{COBRE_SHM_RANK:-0}}" = 0 ] || exit 0', f"echo {name} >> {order}", "echo barrier 0 1")
        job = run(*FAST, "--rounds", 3, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "gloo", command=command)
        self.assertEqual(job.returncode, 0, job.stderr + job.stdout)
        with open(order, encoding="utf-8") as log:
            self.assertEqual(log.read().split(), ["ours", "gloo"] * 3)

    def test_an_mpi_peer_is_started_at_both_thread_levels_and_the_faster_counts(self):
        command, programs = self.install()
        for name in ("ours", "limits"):
            self.install_fake(programs, name, "echo barrier 0 4")
        self.install_fake(programs, "mpich", '[ "$1" = single ] && echo barrier 0 5', '[ "$1" = multiple ] && echo barrier 0 3', "exit 0")
        launcher = os.path.join(programs, "mpirun")  # that starts one rank, whatever it is asked for
        write_script(launcher, '#!/bin/sh\n[ "$1" = --version ] && exec echo "Open MPI"\n'
                               'while [ "${1##*/}" != cobre-bench-mpich ]; do shift; done\nexec "$@"\n')
        job = run(*QUICK, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "mpich", "--json", file("levels.json"),
                  command=command, env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"})
        self.assertEqual(job.returncode, 0, job.stderr + job.stdout)
        records = {r["backend"]: r for r in load("levels.json")["records"]}
        self.assertEqual((records["mpich"]["thread_level"], records["mpich"]["median_us"]), ("multiple", 3))
        self.assertEqual((records["shm"]["ratio"], records["shm"]["best_peer"]), (0.75, "mpich"))

    def test_a_thread_level_that_was_not_granted_gets_no_record(self):
        words = [*QUICK, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "openmpi,boost-mpi", "--json", file("granted.json")]
        job = run(*words, env=os.environ | {"LD_PRELOAD": WITHOUT_THREADS})
        self.assertEqual(job.returncode, 1, job.stderr + job.stdout)
        for peer in ("openmpi", "boost-mpi"):
            self.assertRegex(job.stdout, rf"(?m)^{peer}, multiple: ended with code 1: this MPI library does not grant MPI_THREAD_MULTIPLE in barrier")
        self.assertEqual({r["backend"]: r["thread_level"] for r in load("granted.json")["records"]},
                         {"shm": None, "openmpi": "single", "boost-mpi": "single"})


class Modes(CommandTest):
    def test_plans_stand_beside_plain_calls_with_what_setting_them_up_costs(self):
        job = run(*QUICK, "--persistent", "--sizes", "8", "--ranks", 2, "--json", file("plans.json"), timeout=60)
        self.assertEqual(job.returncode, 0, job.stderr + job.stdout)
        records = load("plans.json")["records"]
        backends = {"shm", "tcp", "tcp-sockets", "mpi", "local"}
        for op in ("broadcast", "allreduce", "allgatherv"):
            self.assertEqual({r["backend"] for r in records if r["op"] == op}, backends)
            plans = {r["backend"]: r for r in records if r["op"] == f"{op}_init"}
            self.assertEqual(set(plans), backends)
            for name, plan in plans.items():
                self.assertGreater(plan["setup_us"], 0)
                row = re.search(rf"(?m)^{op} +8 +\d  {name} .*$", job.stdout)
                self.assertRegex(row.group(), r"(?:never|\d+)$")
        self.assertTrue(all(r["setup_us"] is None for r in records if not r["op"].endswith("_init")))

    def test_the_pattern_of_the_solver_runs_on_ours_and_in_plain_mpi(self):
        job = run(*QUICK, "--pattern", "sddp", "--scale", "0.002", "--ranks", 2, "--backends", "shm,mpi", "--peers",
                  "openmpi,mpich,gloo", "--json", file("sddp.json"))
        self.assertEqual(job.returncode, 0, job.stderr + job.stdout)
        document = load("sddp.json")
        self.assertEqual({r["backend"] for r in document["records"]}, {"shm", "mpi", "openmpi", "mpich"})
        self.assertEqual(document["absent"][0]["name"], "gloo")
        # Of a production iteration, as reference: 192 states of 2080 numbers; here 4, and cuts with a header of 25 bytes.
        stage = 192 * 4 * 8 + 192 * (25 + 4 * 8) + 19 * (8 + 4) + 2 * 14 * 8
        self.assertEqual({r["bytes"] for r in document["records"]}, {192 * 8 + 2 * 8 + 59 * stage + 8})
        self.assertRegex(job.stdout, r"(?m)^sddp +\d+  shm .* (?:openmpi|mpich)\b")

    def test_the_exchanges_of_the_reference_application_run_everywhere(self):
        patterns = {"sddp-example", "sddp-example-regions"}
        job = run(*QUICK, "--pattern", ",".join(patterns), "--ranks", 3, "--backends", "shm,tcp,mpi", "--peers", "openmpi",
                  "--json", file("example.json"))
        self.assertEqual(job.returncode, 0, job.stderr + job.stdout)
        self.assertEqual({(r["op"], r["backend"]) for r in load("example.json")["records"]},
                         {(op, name) for op in patterns for name in ("shm", "tcp", "mpi", "openmpi")})

    def test_a_ratio_that_became_worse_fails_the_check(self):
        words = [*QUICK, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "openmpi"]
        self.assertEqual(run(*words, "--json", file("now.json")).returncode, 0)
        document = load("now.json")
        for factor, code, said in ((1e-6, 0, "0 of 1 cells became more than 15 % worse"), (1e6, 1, "1 of 1 cells became")):
            stored = json.loads(json.dumps(document))
            stored["records"][0]["ratio"] *= factor
            with open(file("stored.json"), "w", encoding="utf-8") as out:
                json.dump(stored, out)
            job = run(*words, "--check", file("stored.json"))
            self.assertEqual(job.returncode, code, job.stdout)
            self.assertIn(said, job.stdout)
        self.assertRegex(job.stdout, r"(?m)^worse: barrier of 0 bytes on shm with 2 ranks has a ratio of \S+ to openmpi, was ")
        job = run(*words[:-1], "none", "--check", file("stored.json"))
        self.assertEqual(job.returncode, 1, "nothing compared is nothing shown")


    def test_a_stored_run_is_measured_again_as_it_was(self):
        stored = [*FAST, "--rounds", 2, "--ops", "scan", "--sizes", "8,64", "--ranks", 3, "--backends", "shm", "--peers", "none"]
        self.assertEqual(run(*stored, "--json", file("then.json")).returncode, 0)
        job = run("bench", "--check", file("then.json"), "--json", file("again.json"))
        self.assertIn("0 of 0 cells became", job.stdout, "without a peer there are no ratios")
        then, again = load("then.json"), load("again.json")
        for document in (then, again):
            for changing in ("date", "version"):
                del document["run"][changing]
        self.assertEqual(again["run"], then["run"])
        self.assertEqual(again["run"]["options"], {"ops": "scan", "sizes": "8,64", "ranks": "3", "backends": "shm", "peers": "none"})
        self.assertEqual({(r["op"], r["bytes"], r["ranks"], r["backend"]) for r in again["records"]},
                         {("scan", bytes, 3, "shm") for bytes in (8, 64)})


class Usage(CommandTest):
    def test_what_is_wrong_is_said_in_one_line(self):
        missing = file("nowhere/run.json")
        for arguments, said in {
            ("--ops", "gossip"): "--ops: there is no operation 'gossip'; there are barrier, broadcast, allreduce, allgatherv, regions, reduce, gather, gatherv, scatter, scatterv, allgather, alltoall, alltoallv, scan, exscan, reduce_scatter_block, message",
            ("--sizes", "8,12"): "--sizes: '12' is no size of some doubles; take a multiple of 8 bytes",
            ("--sizes", "0"): "--sizes: '0' is no size of some doubles; take a multiple of 8 bytes",
            ("--sizes", "many"): "--sizes: 'many' is no size; write bytes up to 2G, as in 8,1K,4M",
            ("--sizes", "3G"): "--sizes: '3G' is no size; write bytes up to 2G, as in 8,1K,4M",
            ("--ranks", "2,-1"): "--ranks: '-1' is no number of ranks; take 1 to 128",
            ("--backends", "udp"): "--backends: there is no backend 'udp'; there are shm, tcp, tcp-sockets, mpi, local",
            ("--peers", "nccl"): "--peers: there is no peer 'nccl'; there are openmpi, mpich, openmpi-tcp, gloo, boost-mpi",
            ("--json", missing): f"--json: '{missing}' cannot be written",
            ("--pattern", "cg"): "--pattern: there is no pattern 'cg'; there are sddp, sddp-example, sddp-example-regions",
            ("--pattern", "sddp-example", "--scale", "2"): "--scale: only sddp has a scale; the exchanges of the example are what they are",
            ("--pattern", "sddp", "--sizes", "8"): "--pattern has operations and sizes of its own: leave out --ops, --sizes and --persistent",
            ("--persistent", "--ops", "barrier"): "--persistent: barrier has no plan; broadcast, allreduce, allgatherv have",
            ("--persistent", "--peers", "mpich"): "--persistent: plans stand beside plain calls of the same backend; leave out --peers",
            ("--effort", "nan"): "--effort: nan is no number",
            ("--pattern", "sddp", "--scale", "nan"): "--scale: nan is no number",
            ("--check", missing): f"--check: '{missing}' cannot be read",
            ("--bars", missing): f"--bars: '{missing}' cannot be read",
        }.items():
            with self.subTest(arguments=arguments):
                job = run("bench", *arguments)
                self.assertEqual((job.returncode, job.stdout, job.stderr), (2, "", f"cobre-comm: {said}\n"))


    def test_each_operation_has_the_bars_that_hold_for_all_of_them(self):
        operations = run("bench", "--ops", "?").stderr.strip().rpartition("there are ")[2].split(", ")
        self.assertIn("message", operations)
        with open(BARS, encoding="utf-8") as text:
            bars = {(bar["op"], bar["backend"], peer, bar.get("crowded", False)) for bar in json.load(text)["bars"] for peer in bar["against"]}
        for op in set(operations) - {"regions"}:  # an allreduce
            wanted = {(op, "shm", "openmpi", False), (op, "shm", "mpich", False)}
            for crowded in (False, True):
                wanted |= {(op, "tcp-sockets", "openmpi-tcp", crowded), (op, "tcp", "shm", crowded)}
            self.assertEqual(wanted - bars, set())


class Watching(CommandTest):
    LONG = ["bench", "--rounds", "3", "--effort", "3", "--ops", "barrier,allreduce", "--sizes", "8", "--ranks", "2",
            "--backends", "shm", "--peers", "openmpi"]

    def test_an_interrupted_run_tells_what_was_measured_and_leaves_nothing(self):
        job = start(*self.LONG, "--json", file("part.json"))
        line = job.stderr.readline()
        self.assertRegex(line, r"^2 ranks, barrier: \d+ of 19 steps, about \d+ s left$")
        started = descendants_of(job.pid)
        job.send_signal(signal.SIGINT)
        out, _ = self.ended(job)
        self.assertEqual(job.returncode, 130)
        self.assertRegex(out, r"(?m)^barrier +0  shm ")
        self.assertIn("interrupted: this is what was measured until then", out)
        document = load("part.json")
        self.assertFalse(document["run"]["complete"])
        self.assertIn("barrier", {r["op"] for r in document["records"]})
        self.expect_gone(started, seconds=5)

    def test_a_run_that_is_killed_leaves_nothing(self):
        job = start(*self.LONG)
        self.wait_until(lambda: len(descendants_of(job.pid)) > 1, "two processes measure the hardware first")
        started = descendants_of(job.pid)
        job.kill()
        self.expect_gone(started, seconds=5)

    def test_a_terminal_shows_a_bar_with_the_time_that_is_left(self):
        job, drawn = drawn_on_terminal(
            lambda terminal: start(*FAST, "--rounds", 2, "--ops", "barrier", "--ranks", 2, "--backends", "shm", "--peers", "none",
                                   stderr=terminal))
        out = job.stdout.read()
        self.assertEqual(job.wait(LIMIT), 0)
        self.assertRegex(drawn, rb"\[#+\.+\] 2/3  \d+ s left  2 ranks, barrier, round 2 of 2: shm")
        self.assertTrue(drawn.endswith(b"\r\x1b[K"), drawn)
        self.assertNotIn("\r", out)


if __name__ == "__main__":
    unittest.main()
