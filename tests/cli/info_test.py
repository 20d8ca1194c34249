"""cobre-comm info: what is here, as text and as JSON, and who runs where."""
import ctypes
import glob
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import unittest

from support import COMMAND, LIMIT, CommandTest, run, write_script


LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PTRACER, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP = 0x59616d61, 38, 22


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def may_read_another_process():
    """Of one brother by another, as ranks are, where the one agrees."""
    word = ctypes.create_string_buffer(b"here")
    agreed, done = os.pipe(), os.pipe()
    read = os.fork()
    if read == 0:
        LIBC.prctl(PR_SET_PTRACER, ctypes.c_ulong(-1), 0, 0, 0)
        os.write(agreed[1], b".")
        os.read(done[0], 1)
        os._exit(0)
    os.read(agreed[0], 1)
    reads = os.fork()
    if reads == 0:
        copy = ctypes.create_string_buffer(4)
        here, there = Part(ctypes.addressof(copy), 4), Part(ctypes.addressof(word), 4)
        count = LIBC.process_vm_readv(read, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        os._exit(0 if count == 4 and copy.raw == b"here" else 1)
    may = os.waitpid(reads, 0)[1] == 0
    os.write(done[1], b".")
    os.waitpid(read, 0)
    for end in (*agreed, *done):
        os.close(end)
    return may


def forbid_reading_processes():
    """From here on the two calls fail as they do in a container."""
    calls = {"x86_64": (310, 311), "aarch64": (270, 271)}[os.uname().machine]
    load, equal, give, permission_denied, allow = 0x20, 0x15, 0x06, 0x00050001, 0x7fff0000
    rules = [(load, 0, 0, 0), (equal, 1, 0, calls[0]), (equal, 0, 1, calls[1]), (give, 0, 0, permission_denied), (give, 0, 0, allow)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(code)))
    LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if LIBC.prctl(PR_SET_SECCOMP, 2, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


def plain(value):
    """A value as the text prints it."""
    if isinstance(value, list):
        return ", ".join(map(plain, value)) or "none"
    return "yes" if value is True else "no" if value is False else "unknown" if value is None else str(value)


def lines_of(facts, depth=0):
    """What the text has to say of a tree: for each of its lines the words in it, none of them twice or left out."""
    for key, value in facts.items():
        name = "  " * depth + key.replace("_", " ")
        if isinstance(value, dict):
            yield [name]
            yield from lines_of(value, depth + 1)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            yield [name]
            for item in value:
                (first, called), *rest = item.items()
                begin = f"{first.replace('_', ' ')} {plain(called)}" if isinstance(called, int) else plain(called)
                yield ["  " * (depth + 1) + begin, *(f"{other.replace('_', ' ')} {plain(one)}" for other, one in rest)]
        else:
            yield [name, plain(value)]


def words_of(line):
    """A line of the text, cut where there are two spaces or more."""
    indent = line[:len(line) - len(line.lstrip())]
    first, *rest = re.split(r" {2,}", line.strip())
    return [indent + first, *rest]


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
        def steady(lines):  # memory that is free, or there at all, changes from one moment to the next
            return [[re.sub(r"[\d.]+ ([KMG]i)?B\b", "so much", word) for word in words] for words in lines]

        for environment in ({}, {"SLURM_JOB_ID": "17", "SLURM_MEM_PER_NODE": "5", "HWLOC_SYNTHETIC": "numa:2 core:1 pu:1"}):
            facts = self.facts(**environment)
            text = run("info", env=os.environ | environment).stdout
            self.assertEqual(steady(map(words_of, text.splitlines())), steady(lines_of(facts)))

    def test_it_knows_this_machine(self):
        facts = self.facts()
        self.assertEqual(facts["host"]["name"], socket.gethostname())
        self.assertEqual(facts["host"]["cpus"], os.sysconf("SC_NPROCESSORS_ONLN"))
        self.assertGreaterEqual(facts["limits"]["usable_cores"], 1)
        self.assertEqual([one["name"] for one in facts["backends"]], ["mpi", "tcp", "shm", "local"])

    def test_sockets_and_gpus_are_those_that_the_kernel_has(self):
        facts = self.facts()
        packages = set()
        for file in glob.glob("/sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id"):
            with open(file, encoding="utf-8") as package:
                packages.add(package.read())
        self.assertEqual(facts["host"]["sockets"], len(packages))
        for name, drivers in (("nvidia", "/dev/nvidia[0-9]*"), ("kfd", "/dev/kfd"), ("dri", "/dev/dri/render*")):
            self.assertEqual(any(name in gpu for gpu in facts["gpus"]), bool(glob.glob(drivers)), (facts["gpus"], drivers))

    def test_dev_shm_is_as_large_as_it_is(self):
        mount = 'mount -t tmpfs -o size=8m none /dev/shm && exec "$@"'
        job = run("--mount", "sh", "-c", mount, "sh", COMMAND, "info", "--json", command=shutil.which("unshare"))
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertTrue(json.loads(job.stdout)["limits"]["dev_shm"].startswith("8.0 MiB of 8.0 MiB free"), job.stdout)

    def test_single_copy_is_there_only_where_a_process_may_read_another(self):
        if self.facts()["single_copy"]:
            self.assertTrue(may_read_another_process())
        job = run("info", "--json", preexec_fn=forbid_reading_processes)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        facts = json.loads(job.stdout)
        self.assertIs(facts["single_copy"], False)
        self.assertTrue(next(one for one in facts["backends"] if one["name"] == "shm")["usable"], "without it, by copying twice")

    def test_affinity_is_that_of_the_process(self):
        one = max(os.sched_getaffinity(0))
        job = run("info", "--json", preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        facts = json.loads(job.stdout)
        self.assertEqual((facts["limits"]["affinity"], facts["limits"]["usable_cores"]), (str(one), 1))

    def test_a_backend_that_is_there_was_tried(self):
        for backend in self.facts()["backends"]:
            self.assertEqual(backend["usable"], backend["compiled_in"], backend)
            if backend["compiled_in"] and backend["name"] != "local":
                self.assertRegex(backend["because"], "^tried: two processes (met|shared memory) .*just now$")

    def backend(self, name, *before, **environment):
        job = subprocess.run([*before, COMMAND, "info", "--json"], capture_output=True, text=True, timeout=LIMIT,
                             check=False, env=os.environ | environment, stdin=subprocess.DEVNULL)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        return next(one for one in json.loads(job.stdout)["backends"] if one["name"] == name)

    def test_a_network_that_does_not_work_is_found_out(self):
        if not self.backend("tcp", PATH="/nowhere")["compiled_in"]:
            return
        # A network of its own has a loopback that is not up.
        tcp = self.backend("tcp", shutil.which("unshare"), "--net", PATH="/nowhere")
        self.assertFalse(tcp["usable"], tcp)
        self.assertIn("backend 'tcp' could not start", tcp["because"])

    def test_an_mpi_that_does_not_work_is_found_out(self):
        if not self.facts()["backends"][0]["compiled_in"]:
            return
        self.assertEqual(self.backend("mpi", PATH="/nowhere")["because"], "its launcher is not in PATH")
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(shutil.which("env"), os.path.join(folder, "env"))
            for launcher in ("mpirun.openmpi", "mpiexec.hydra"):
                write_script(os.path.join(folder, launcher), "#!/bin/sh\necho no room on this ship\nexit 3\n")
            mpi = self.backend("mpi", PATH=folder)
        self.assertFalse(mpi["usable"], mpi)
        self.assertRegex(mpi["because"], r"^tried: two processes under \S+ ended with code 3: no room on this ship$")

    def test_inside_of_a_job_no_other_one_is_started(self):
        mpi = self.facts(SLURM_JOB_ID="17")["backends"][0]
        if mpi["compiled_in"]:
            self.assertRegex(mpi["because"], r"^start programs with \S+ \(not tried inside of a job\)$")

    def test_small_amounts_have_small_units(self):
        for megabytes, words in (("5", "5.0 MiB"), ("1023", "1023.0 MiB"), ("1024", "1.0 GiB")):
            slurm = self.facts(SLURM_JOB_ID="17", SLURM_MEM_PER_NODE=megabytes)["slurm"]
            self.assertEqual(slurm["memory_for_the_job_on_this_node"], words)

    def test_the_job_is_what_slurm_says(self):
        self.assertEqual(self.facts()["slurm"], "none")
        slurm = self.facts(SLURM_JOB_ID="17", SLURM_CPUS_PER_TASK="3", SLURM_MEM_PER_NODE="512")["slurm"]
        self.assertEqual((slurm["job"], slurm["cpus_per_task"]), ("17", 3))
        self.assertEqual(slurm["memory_for_the_job_on_this_node"], "512.0 MiB")

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
            self.assertEqual(self.facts(OMPI_COMM_WORLD_SIZE="1")["mpi"]["transport"],
                             "unknown: not tried inside of a job")
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
