"""cobre-comm info: what is here, as text and as JSON, and who runs where."""
import json
import os
import socket
import subprocess
import unittest

from support import COMMAND, LIMIT, CommandTest, run


def flat(value):
    """All plain values of a tree, as the text prints them."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [leaf for item in value for leaf in flat(item)]
    return ["yes" if value is True else "no" if value is False else "unknown" if value is None else str(value)]


class Facts(CommandTest):
    PLAIN = {}

    def facts(self, **environment):
        # Asked once without anything special: it starts a job of MPI to see how that moves bytes.
        if environment:
            return self.ask(environment)
        if not self.PLAIN:
            self.PLAIN.update(self.ask({}))
        return self.PLAIN

    def ask(self, environment):
        job = run("info", "--json", env=os.environ | environment)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        return json.loads(job.stdout)

    def test_it_speaks_of_nothing_but_facts(self):
        job = run("info", env=os.environ | {"HWLOC_SYNTHETIC": "numa:2 core:1 pu:1"})
        self.assertEqual(job.stderr, "")
        self.assertNotIn("\0", job.stdout)

    def test_text_and_json_have_the_same_content(self):
        changing = {"limits"}  # memory that is free changes from one moment to the next
        facts = {key: value for key, value in self.facts().items() if key not in changing}
        text = run("info").stdout
        for value in flat(facts):
            self.assertIn(value.strip(), text)

    def test_it_knows_this_machine(self):
        facts = self.facts()
        self.assertEqual(facts["host"]["name"], socket.gethostname())
        self.assertEqual(facts["host"]["cpus"], os.sysconf("SC_NPROCESSORS_ONLN"))
        self.assertGreaterEqual(facts["limits"]["usable_cores"], 1)
        self.assertEqual([one["name"] for one in facts["backends"]], ["mpi", "tcp", "shm", "local"])

    def test_affinity_is_that_of_the_process(self):
        one = max(os.sched_getaffinity(0))
        job = run("info", "--json", preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        facts = json.loads(job.stdout)
        self.assertEqual((facts["limits"]["affinity"], facts["limits"]["usable_cores"]), (str(one), 1))

    def test_a_backend_that_is_there_was_tried(self):
        shm = self.facts()["backends"][2]
        self.assertEqual(shm["usable"], shm["compiled_in"], shm)

    def test_the_job_is_what_slurm_says(self):
        self.assertEqual(self.facts()["slurm"], "none")
        slurm = self.facts(SLURM_JOB_ID="17", SLURM_CPUS_PER_TASK="3", SLURM_MEM_PER_NODE="512")["slurm"]
        self.assertEqual((slurm["job"], slurm["cpus_per_task"]), ("17", 3))
        self.assertEqual(slurm["memory_for_the_job_on_this_node"], "0.5 GiB")

    def test_a_launcher_of_another_mpi_than_ours_is_a_problem_that_is_explained(self):
        mpi = self.facts()["mpi"]
        if mpi == "not in this build":
            return
        stranger = "OMPI_COMM_WORLD_SIZE" if "MPICH" in mpi["library"] else "PMI_SIZE"
        facts = self.facts(**{stranger: "3"})
        self.assertFalse(facts["mpi"]["launcher_and_library_agree"])
        self.assertRegex(facts["problem"], rf"started 3 processes \({stranger}=3\), but each of them is rank 0 of 1: "
                                           r"this program was built with (Open MPI|MPICH)")
        ours = "PMI_SIZE" if "MPICH" in mpi["library"] else "OMPI_COMM_WORLD_SIZE"
        self.assertNotIn("problem", self.facts(**{ours: "3", "COBRE_COMM_BACKEND": "mpi"}))

    def test_the_transport_is_that_of_processes_that_were_started_to_see(self):
        mpi = self.facts()["mpi"]
        if mpi == "not in this build":
            return
        if "Open MPI" in mpi["library"]:
            self.assertRegex(mpi["transport"], r"^\w+( with [\w, ]+)? \(tried on this machine\)$")
            forced = self.facts(OMPI_MCA_pml="ob1", OMPI_MCA_btl="tcp,self")["mpi"]["transport"]
            self.assertEqual(forced, "ob1 with tcp (tried on this machine)")
            self.assertEqual(self.facts(OMPI_COMM_WORLD_SIZE="1")["mpi"]["transport"], "not tried inside of a job")
        else:
            self.assertIn("ch", mpi["transport"])  # ch3 or ch4, and the network below it

    def test_it_tells_what_a_program_would_get(self):
        self.assertEqual(self.facts()["a_program_started_like_this"]["backend"], "local")
        started = self.facts(COBRE_SHM_NAME="x", COBRE_SHM_SIZE="4")["a_program_started_like_this"]
        self.assertEqual((started["backend"], started["started_by"]), ("shm", "cobre-comm run (COBRE_SHM_SIZE=4)"))
        self.assertIn("'pigeon'", self.facts(COBRE_COMM_BACKEND="pigeon")["a_program_started_like_this"]["error"])


class Layout(CommandTest):
    def layout(self, *launcher, **environment):
        job = subprocess.run([*map(str, launcher), COMMAND, "info", "--layout", "--json"], capture_output=True, text=True,
                             timeout=LIMIT, check=False, env=os.environ | environment, stdin=subprocess.DEVNULL)
        self.assertEqual(job.returncode, 0, job.stderr)
        return json.loads(job.stdout), job.stderr

    def test_ranks_are_listed_by_host_with_their_cpus(self):
        layout, _ = self.layout(COMMAND, "run", "-n", 3, "--")
        self.assertEqual((layout["backend"], layout["ranks"], layout["hosts"]), ("shm", 3, 1))
        self.assertEqual([one["rank"] for one in layout["placement"]], [0, 1, 2])
        self.assertTrue(layout["overlap"])
        self.assertEqual(layout["placement"][0]["shares_cpus_with"], "ranks 1 and 2")
        self.assertEqual(layout["placement"][0]["host"], socket.gethostname())

    def test_bound_ranks_do_not_overlap(self):
        cores = len(os.sched_getaffinity(0))
        layout, _ = self.layout(COMMAND, "run", "-n", min(2, cores), "--bind", "core", "--")
        self.assertFalse(layout["overlap"])
        for one in layout["placement"]:
            self.assertEqual((one["shares_cpus_with"], one["threads"]), ("nobody", 1))

    def test_ranks_on_several_numa_domains_are_marked_and_warned_of(self):
        two_domains = {"HWLOC_SYNTHETIC": "numa:2 core:1 pu:1"}
        if len(os.sched_getaffinity(0)) < 2:
            self.fail("this test needs two processors")
        layout, warnings = self.layout(COMMAND, "run", "-n", 2, "--", **two_domains)
        self.assertEqual(layout["on_several_numa_domains"], "ranks 0 and 1")
        self.assertEqual(layout["placement"][0]["numa"], [0, 1])
        self.assertEqual(len(warnings.splitlines()), 1, warnings)
        self.assertIn("ranks 0 and 1 may run on several NUMA domains", warnings)
        layout, warnings = self.layout(COMMAND, "run", "-n", 2, "--bind", "numa", "--", **two_domains)
        self.assertEqual([one["numa"] for one in layout["placement"]], [[0], [1]])
        self.assertEqual(warnings, "")

    def test_alone_it_is_one_rank(self):
        layout, _ = self.layout()
        self.assertEqual((layout["backend"], layout["ranks"]), ("local", 1))

    def test_processes_that_are_each_rank_0_of_1_are_told_why(self):
        job = run("info", "--layout", env=os.environ | {"OMPI_COMM_WORLD_SIZE": "4", "COBRE_COMM_BACKEND": "local"})
        self.assertEqual((job.returncode, job.stdout), (1, ""))
        self.assertIn("Open MPI's mpirun started 4 processes (OMPI_COMM_WORLD_SIZE=4), but each of them is rank 0 of 1: "
                      "COBRE_COMM_BACKEND=local makes it so; unset it", job.stderr)


if __name__ == "__main__":
    unittest.main()
