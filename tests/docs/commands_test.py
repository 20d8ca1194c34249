"""The commands on the pages: each is run, as it is written or narrowed to what takes a moment, and nothing is on a page that is not.

usage: commands_test.py <build folder> <the command cobre-comm> <launcher of MPI>
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
import own_mpi_directory  # noqa: E402, F401

BUILD, COMMAND, LAUNCHER = (Path(argument) for argument in sys.argv[1:4])
del sys.argv[1:]
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"cpp", "text", "cmake", "sh", "bash"}  # a program, what it prints, a project, commands one a line, a script


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def on_all_pages(language):
    return [block for page in PAGES for block in blocks(page, language)]


def lines(block):
    return [line.split(" #")[0].strip() for line in block.splitlines() if line.strip()]


class Commands(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/cobre-comm").symlink_to(COMMAND)
        (self.folder / "bin/mpirun").symlink_to(LAUNCHER)
        self.environment = {
            **os.environ,
            "HOME": str(self.folder),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            # What a first reader is not: root, on a machine with fewer cores than ranks.
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
        }

    def commands(self, beginning):
        """What begins so on any page."""
        found = [line for block in on_all_pages("sh") for line in lines(block) if line.startswith(beginning)]
        self.assertTrue(found, f"no page has '{beginning}'")
        return found

    def run_line(self, line, folder=None):
        result = subprocess.run(["bash", "-ec", line], cwd=folder or self.folder, env=self.environment, capture_output=True, text=True,
                                timeout=120, check=False)
        self.assertEqual(result.returncode, 0, f"{line}\n{result.stdout}{result.stderr}")
        return result.stdout

    def provide(self, *names):
        """The program of the first page of all, under these names."""
        for name in names:
            (self.folder / name).symlink_to(BUILD / "tests/docs/docs_readme_1")

    def test_there_is_nothing_on_a_page_that_is_not_run(self):
        # Slurm's own launcher is run by tests/cluster; what runs the others is below.
        known = ("cobre-comm run ", "cobre-comm info", "cobre-comm bench", "make ", "mpirun -n ", "build/openmpi/examples/sddp/sddp ",
                 "srun -n ", "cmake -B build ", "g++ -std=c++20 ", "./basel")
        for block in on_all_pages("sh"):
            for line in lines(block):
                self.assertTrue(line.startswith(known), f"nothing runs this command of a page: {line}")
        for page in PAGES:
            fences = re.findall(r"^```(\w*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
            self.assertLessEqual(set(fences[::2]), LANGUAGES, page)
            self.assertEqual(set(fences[1::2]), {""} if fences else set(), page)
        self.assertEqual(len(on_all_pages("bash")), 2)
        self.assertEqual(len(on_all_pages("cmake")), 2)

    def test_what_stands_behind_no_program_is_compared_elsewhere_or_is_no_output(self):
        # What the launcher says, which the tests in tests/cli compare with what it does; formulas; a protocol.
        apart = {}
        for page in PAGES:
            text = re.sub(r"^```cpp\n.*?^```\n(?:\n```text\n.*?^```\n)?", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
            if count := len(re.findall(r"^```text$", text, re.MULTILINE)):
                apart[page.relative_to(ROOT).as_posix()] = count
        self.assertEqual(apart, {"docs/algorithms.md": 1, "docs/command.md": 4, "docs/sddp.md": 2})

    def test_each_way_to_start_ranks_is_understood(self):
        self.provide("app", "sum", "basel")
        for line in self.commands("cobre-comm run "):
            self.run_line(line.replace("cobre-comm run ", "cobre-comm run --dry-run ", 1))
        for line in self.commands("cobre-comm info"):
            self.run_line(line)

    def test_the_first_program_is_four_ranks_where_the_page_says_so(self):
        self.provide("sum")
        for line in lines(next(block for block in blocks(ROOT / "README.md", "sh") if "./sum" in block)):
            if "--hosts" not in line:
                self.assertEqual(self.run_line(line), "4 rank(s), sum 2.0833\n", line)

    def test_what_an_mpi_launcher_starts_tells_who_runs_where(self):
        for line in self.commands("mpirun -n 8 "):
            self.assertRegex(self.run_line(line), r"ranks +8\n")

    # Less effort, and of what a line leaves open only a little.
    def test_each_way_to_measure_works(self):
        narrowed = {"--backends": "shm", "--peers": "mpich", "--ops": "barrier", "--ranks": "2", "--effort": "0.005", "--rounds": "1"}
        for line in self.commands("cobre-comm bench"):
            more = [f"{option} {value}" for option, value in narrowed.items() if option not in line]
            self.assertIn("shm", self.run_line(" ".join([line, *more])))
            for file in re.findall(r"run\.\w+", line):
                self.assertGreater((self.folder / file).stat().st_size, 1000, file)

    def test_what_make_is_asked_for_exists(self):
        for line in self.commands("make "):
            self.run_line(line.replace("make ", "make --dry-run ", 1), ROOT)

    def test_the_reference_application_runs_as_its_page_says(self):
        (self.folder / "build").mkdir()
        (self.folder / "build/openmpi").symlink_to(BUILD)
        (self.folder / "examples").symlink_to(ROOT / "examples")
        found = [line for line in lines("".join(blocks(ROOT / "docs/sddp.md", "sh"))) if "build/openmpi" in line]
        self.assertEqual(len(found), 4)
        for line in found:
            self.run_line(line if "--help" in line else line + " --iterations 2")
        self.assertIn("<html", (self.folder / "result.html").read_text(encoding="utf-8"))

    def test_ranks_that_a_shell_starts_find_each_other_in_shared_memory(self):
        self.provide("my_program")
        (script,) = blocks(ROOT / "docs/backends/shm.md", "bash")
        self.assertEqual(self.run_line(script), "4 rank(s), sum 2.0833\n")

    def test_ranks_that_a_shell_starts_find_each_other_over_tcp(self):
        self.provide("my_program")
        secret = self.folder / "job.secret"
        secret.write_text("a secret of this test\n", encoding="utf-8")
        secret.chmod(0o600)
        (script,) = blocks(ROOT / "docs/backends/tcp.md", "bash")
        self.assertIn("node1", script)
        own = os.getpid()  # an address that no other test of this machine uses
        script = script.replace("node1", f"127.{90 + own // 65025 % 100}.{1 + own // 255 % 255}.{1 + own % 255 % 254}")
        ranks = [subprocess.Popen(["bash", "-ec", script.replace("RANK=0", f"RANK={rank}")], cwd=self.folder, env=self.environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for rank in range(4)]
        said = [rank.communicate(timeout=60)[0] for rank in ranks]
        self.assertEqual(said, ["4 rank(s), sum 2.0833\n", "", "", ""])

    def test_the_first_page_works_as_it_is_written(self):
        page = ROOT / "docs/getting-started.md"
        self.run_line(f'cmake --install "{BUILD}" --prefix "$HOME/.local"')
        self.environment["PKG_CONFIG_PATH"] = ":".join(str(place) for place in (self.folder / ".local").glob("lib*/pkgconfig"))
        (self.folder / "basel.cpp").write_text(blocks(page, "cpp")[0], encoding="utf-8")
        (self.folder / "CMakeLists.txt").write_text(blocks(page, "cmake")[0], encoding="utf-8")
        with_cmake, with_pkg_config = lines(next(block for block in blocks(page, "sh") if "pkg-config" in block))
        self.run_line(with_cmake)
        self.assertTrue((self.folder / "build/basel").exists())
        self.run_line(with_pkg_config)
        (self.folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(my_solver LANGUAGES CXX)\nadd_executable(my_solver basel.cpp)\n"
            + blocks(ROOT / "README.md", "cmake")[0], encoding="utf-8")
        self.run_line(re.sub(r"(?<!-)\bbuild\b", "other", with_cmake))
        self.assertTrue((self.folder / "other/my_solver").exists())
        expected = blocks(page, "text")[0]
        runs = [line for line in lines(next(block for block in blocks(page, "sh") if "srun" in block))
                if "--hosts" not in line and "srun" not in line]
        self.assertEqual(len(runs), 3)
        for line in runs:
            self.assertEqual(self.run_line(line), expected, line)


if __name__ == "__main__":
    unittest.main()
