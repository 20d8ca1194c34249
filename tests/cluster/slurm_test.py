"""A program on a real Slurm of two nodes."""
import json
import os
import re
import time
import unittest

from slurm_cluster import Cluster
from support import COMMAND, RANKS, CommandTest

FAMILY = os.environ["COBRE_COMM_TEST_MPI"]  # how srun starts a program of this build's MPI

TCP = os.environ["COBRE_COMM_TEST_TCP"] == "ON"


class Slurm(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.enterClassContext(cls.cluster)

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

    def test_run_uses_srun_or_the_launcher_that_knows_the_allocation(self):
        if FAMILY == "none":
            return
        job = self.cluster.call("salloc", "-N2", "-n4", COMMAND, "run", "--backend", "mpi", "-n", 4, "--dry-run", RANKS)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertRegex(job.stderr, r"srun -n 4 .*--mpi=pmi2" if FAMILY == "pmi2" else r"mpirun.* -n 4 ")


if __name__ == "__main__":
    unittest.main()
