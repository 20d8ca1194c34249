"""A program on a real Slurm of two nodes."""
import json
import os
import re
import time
import unittest

from slurm_cluster import Cluster
from support import COMMAND, RANKS, CommandTest

TABLE = os.environ["COBRE_COMM_TEST_TABLE"]  # the example shared_table
FAMILY = os.environ["COBRE_COMM_TEST_MPI"]  # how srun starts a program of this build's MPI

TCP = os.environ["COBRE_COMM_TEST_TCP"] == "ON"


class Slurm(CommandTest):
    @classmethod
    def setUpClass(cls):
        before = os.path.lexists("/run/munge")
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.expect_nothing_left, before)  # called after the cluster has ended
        cls.enterClassContext(cls.cluster)

    @classmethod
    def expect_nothing_left(cls, munge_before):
        """No process that has to do with this cluster, no file, and nothing where other programs look for MUNGE."""
        left = cls.cluster.processes()
        if left or os.path.exists(cls.cluster.folder) or os.path.lexists("/run/munge") != munge_before:
            raise AssertionError(f"left behind: processes {left}, or {cls.cluster.folder}, or /run/munge")

    def layout(self, *srun, **environment):
        job = self.cluster.call("srun", *srun, COMMAND, "info", "--layout", "--json", **environment)
        self.assertEqual(job.returncode, 0, job.stderr + self.cluster.logs())
        return json.loads(job.stdout)

    def facts_in(self, *allocation):
        job = self.cluster.call("salloc", *allocation, "srun", COMMAND, "info", "--json")
        self.assertEqual(job.returncode, 0, job.stderr)
        return json.loads(job.stdout)

    def expect_two_nodes(self, layout, backend):
        self.assertEqual((layout["backend"], layout["ranks"], layout["hosts"]), (backend, 4, 2), layout)
        hosts = {}
        for one in layout["placement"]:
            hosts.setdefault(one["host"], []).append(one["rank"])
        self.assertEqual(hosts, {"n1": [0, 1], "n2": [2, 3]})

    def test_a_step_under_pmi_is_mpi_on_two_nodes(self):
        if FAMILY == "none":
            return
        self.expect_two_nodes(self.layout("-N2", "-n4", "--ntasks-per-node=2", f"--mpi={FAMILY}"), "mpi")
        job = self.cluster.call("srun", "-N2", "-n4", f"--mpi={FAMILY}", RANKS, "sum")
        self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {rank} of 4: 10" for rank in range(4)], job.stderr)

    def test_a_step_that_no_mpi_serves_is_tcp_on_two_nodes(self):
        job = self.cluster.call("srun", "-N2", "-n4", "--mpi=none", RANKS, "sum")
        if TCP:
            self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {rank} of 4: 10" for rank in range(4)], job.stderr)
            self.expect_two_nodes(self.layout("-N2", "-n4", "--ntasks-per-node=2", "--mpi=none"), "tcp")
        else:  # and nobody believes that it is alone
            self.assertEqual(job.stdout, "")
            self.assertIn("tcp", job.stderr)

    def test_the_tasks_of_a_tcp_step_that_have_a_secret_know_the_same_step(self):
        if not TCP:
            return
        job = self.cluster.call("srun", "-N2", "-n4", "--mpi=none", "env", "COBRE_TCP_SECRET=of this test", RANKS, "sum")
        self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {rank} of 4: 10" for rank in range(4)], job.stderr)

    def test_it_is_munge_that_lets_the_tasks_of_a_tcp_step_in(self):
        if not TCP:
            return
        # One task that does not find it.
        script = (f'test "$SLURM_PROCID" = 2 && exec unshare --mount sh -c "umount /run/munge && exec {RANKS} sum"\n'
                  f"exec {RANKS} sum")
        job = self.cluster.call("srun", "-N2", "-n4", "--mpi=none", "--kill-on-bad-exit", "sh", "-c", script)
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(job.stdout, "")
        self.assertIn("MUNGE does not vouch for this process", job.stderr)

    def test_ranks_of_one_node_share_a_region_and_those_of_two_do_not(self):
        if not TCP:
            return
        job = self.cluster.call("srun", "-N2", "-n4", "--ntasks-per-node=2", "--mpi=none", TABLE)
        self.assertEqual((job.returncode, job.stdout), (0, "4 rank(s) read 2 table(s) of 8 MiB\n"), job.stderr)

    def test_a_serial_step_of_a_batch_script_is_local(self):
        script = os.path.join(self.cluster.folder, "batch.sh")
        output = os.path.join(self.cluster.folder, "batch.txt")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{RANKS} sum\nsrun -N1 -n1 {RANKS} sum\necho ended\n")
        job = self.cluster.call("sbatch", "-N2", "-n4", "--wait", "-o", output, script)
        with open(output, encoding="utf-8") as file:
            self.assertEqual(file.read(), "rank 0 of 1: 1\n" * 2 + "ended\n", job.stderr)

    def test_threads_and_memory_are_what_the_job_asked_for(self):
        # As the steps of a job: srun by itself does not say what memory it asked for.
        for request, budget in (("--mem=256", "256.0 MiB"), ("--mem-per-cpu=512", "1.0 GiB")):
            slurm = self.facts_in("-N1", "-n1", "--cpus-per-task=2", request)["slurm"]
            self.assertRegex(slurm["job"], r"^\d+$")
            self.assertEqual((slurm["cpus_per_task"], slurm["memory_for_the_job_on_this_node"]), (2, budget), request)
        layout = self.layout("-n1", "--cpus-per-task=2")
        self.assertEqual((layout["ranks"], layout["placement"][0]["threads"]), (1, 2))

    def test_a_killed_task_ends_the_step(self):
        if FAMILY == "none":
            return
        begin = time.monotonic()
        job = self.cluster.call("srun", "-N2", "-n4", f"--mpi={FAMILY}", "--kill-on-bad-exit", RANKS, "kill", 9, 2)
        self.assertNotEqual(job.returncode, 0)
        self.assertLess(time.monotonic() - begin, 15)
        self.assertTrue(re.search(r"task 2: Killed", job.stderr), job.stderr)

    def test_a_killed_task_of_a_tcp_step_is_named_by_the_others(self):
        if not TCP:
            return
        job = self.cluster.call("srun", "-N2", "-n4", "--mpi=none", RANKS, "kill", 9, 2)
        self.assertNotEqual(job.returncode, 0)
        # The first of them ends the rest, who may be faster or slower to say so.
        self.assertRegex(job.stderr, r"rank [013] of 4 failed: .*: rank 2 \(host n[12], process \d+\) died")

    def test_run_starts_ranks_on_every_node_of_the_allocation(self):
        if not TCP:
            return
        job = self.cluster.call("salloc", "-N2", "-n4", "--ntasks-per-node=2", COMMAND, "run", "--tag", RANKS, "sum")
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(sorted(job.stdout.splitlines()), [f"[{rank}] rank {rank} of 4: 10" for rank in range(4)])
        job = self.cluster.call("salloc", "-N2", "-n4", "--ntasks-per-node=2", COMMAND, "run", RANKS, "kill", 9, 3)
        self.assertEqual(job.returncode, 128 + 9, job.stderr)
        self.assertRegex(job.stderr, r"rank 3 of 4 \(pid \d+ on n2\) was killed by signal 9 \(SIGKILL\)")
        self.assertEqual(job.stderr.count("(pid "), 1, job.stderr)

    def test_run_uses_an_allocation_of_one_node_that_is_held_from_elsewhere(self):
        if not TCP:
            return
        where = ("--", "sh", "-c", "hostname; test -n \"$SLURM_STEP_ID\" && echo in a step")
        job = self.cluster.call("salloc", "-N1", "-n2", "-w", "n2", COMMAND, "run", *where)
        self.assertEqual((job.returncode, sorted(job.stdout.split("\n"))), (0, ["", *["in a step"] * 2, *["n2"] * 2]), job.stderr)
        # More ranks than tasks are welcome, as on one machine.
        job = self.cluster.call("salloc", "-N1", "-n1", COMMAND, "run", "-n", 3, RANKS, "sum")
        self.assertEqual(sorted(job.stdout.splitlines()), [f"rank {rank} of 3: 6" for rank in range(3)], job.stderr)
        job = self.cluster.call("salloc", "-N2", "-n2", COMMAND, "run", "-n", 5, "--dry-run", RANKS)
        self.assertIn("ranks 0 to 2 of 5 on n1, tcp", job.stderr)
        self.assertIn("ranks 3 to 4 of 5 on n2, tcp", job.stderr)

    def test_run_uses_the_cores_of_an_allocation_that_is_held_from_its_own_node(self):
        # Slurm does not bind who holds a job, so it is not affinity that tells.
        usable = self.cluster.call(COMMAND, "run", "hostname").stdout.count("\n")
        for cores in (1, 2):
            hold = f"hostname n2 && exec salloc -N1 -n{cores} -w n2 {COMMAND} run -v -- sh -c 'echo $(hostname) $SLURM_STEP_ID'"
            job = self.cluster.call("unshare", "--uts", "sh", "-c", hold)
            ranks = min(cores, usable)
            self.assertEqual((job.returncode, job.stdout), (0, "n2\n" * ranks), job.stderr)
            self.assertIn(f"rank {ranks - 1} of {ranks} on n2, shm, ", job.stderr)

    def test_run_uses_the_last_of_several_allocations(self):
        if not TCP:
            return
        # A job on one node that asks for another job: what Slurm said of the first one is still in the environment.
        for node, told in (("n1", "rank 0 of 1 on n1, shm, "), ("n2", "ranks 0 to 0 of 1 on n2, tcp")):
            one = ("-N1", "-n1", "--mem=100")  # without a word of it, a job has all the memory of its node
            job = self.cluster.call("srun", *one, "-w", "n1", "salloc", *one, "-w", node, COMMAND, "run", "-v", "hostname")
            self.assertEqual((job.returncode, job.stdout), (0, f"{node}\n"), job.stderr)
            self.assertIn(told, job.stderr)

    def test_run_on_the_only_node_of_the_job_needs_no_step(self):
        script = os.path.join(self.cluster.folder, "one.sh")
        output = os.path.join(self.cluster.folder, "one.txt")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{COMMAND} run -n 2 -v -- hostname 2>&1\n")
        job = self.cluster.call("sbatch", "-N1", "-n2", "-w", "n2", "--wait", "-o", output, script)
        with open(output, encoding="utf-8") as file:
            seen = file.read()
        self.assertEqual(seen.count("\nn2"), 2, (seen, job.stderr))
        self.assertRegex(seen, r"rank 1 of 2 on n2, shm, ")

    def test_run_uses_srun_or_the_launcher_that_knows_the_allocation(self):
        if FAMILY == "none":
            return
        job = self.cluster.call("salloc", "-N2", "-n4", COMMAND, "run", "--backend", "mpi", "-n", 4, "--dry-run", RANKS)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertRegex(job.stderr, r"srun -n 4 .*--mpi=pmi2" if FAMILY == "pmi2" else r"mpirun.* -n 4 ")


if __name__ == "__main__":
    unittest.main()
