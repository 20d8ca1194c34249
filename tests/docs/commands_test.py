"""The commands on the pages: options that exist, and a first page that works as it is written.

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

BUILD, COMMAND, LAUNCHER = (Path(argument) for argument in sys.argv[1:4])
del sys.argv[1:]
ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


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

    def run_line(self, line):
        result = subprocess.run(["bash", "-ec", line], cwd=self.folder, env=self.environment, capture_output=True, text=True,
                                timeout=120, check=False)
        self.assertEqual(result.returncode, 0, f"{line}\n{result.stdout}{result.stderr}")
        return result.stdout

    def test_each_way_to_start_ranks_is_understood(self):
        for program in ("app", "sum", "basel"):
            shutil.copy("/bin/true", self.folder / program)
        found = [line for page in PAGES for block in blocks(page, "sh") for line in lines(block)]
        started = [line for line in found if line.startswith("cobre-comm run ")]
        self.assertGreater(len(started), 8)
        for line in started:
            self.run_line(line.replace("cobre-comm run ", "cobre-comm run --dry-run ", 1))
        for line in (line for line in found if line.startswith("cobre-comm info")):
            self.run_line(line)

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
        expected = blocks(page, "text")[0]
        runs = [line for line in lines(next(block for block in blocks(page, "sh") if "srun" in block))
                if "--hosts" not in line and "srun" not in line]
        self.assertEqual(len(runs), 3)
        for line in runs:
            self.assertEqual(self.run_line(line), expected, line)


if __name__ == "__main__":
    unittest.main()
