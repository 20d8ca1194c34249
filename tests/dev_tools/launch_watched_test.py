"""launch_watched: a job that the MPI library lost at its start is started again; every other one is left alone."""
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

WATCHED = Path(__file__).parents[1] / "support/launch_watched.py"

# A process that has libpmix, like a rank in MPI_Init. What it has mapped and does next is the test's.
RANK = """
    import ctypes, mmap, pathlib, sys, time
    ctypes.CDLL("libpmix.so.2")
    folder = pathlib.Path(sys.argv[1])
    with open(folder / "starts", "a") as file: file.write("x")
    starts = (folder / "starts").stat().st_size
    def load(name):
        (folder / name).write_bytes(bytes(4096))
        with open(folder / name, "r+b") as file: return mmap.mmap(file.fileno(), 4096)
"""


class LaunchWatched(unittest.TestCase):
    def run_rank(self, script):
        with tempfile.TemporaryDirectory() as folder:
            program = textwrap.dedent(RANK) + textwrap.dedent(script)
            # A shell in the place of the launcher, with the rank as its child.
            command = [sys.executable, WATCHED, "--patience", "1", "sh", "-c", '"$@"; exit $?', "sh",
                       sys.executable, "-c", program, folder]
            result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=50)
            return result.returncode, Path(folder, "starts").stat().st_size, result.stderr

    def test_a_rank_that_never_comes_out_of_its_start_is_started_again(self):
        code, starts, said = self.run_rank("if starts == 1: time.sleep(60)\nsys.exit(7)")
        self.assertEqual((code, starts), (7, 2))
        self.assertIn("the job is started again", said)

    def test_a_rank_that_has_a_transport_may_rest(self):
        self.assertEqual(self.run_rank("held = load('mca_btl_vader.so')\ntime.sleep(4)\nsys.exit(7)"), (7, 1, ""))

    def test_a_rank_that_is_busy_may_take_its_time(self):
        script = "end = time.monotonic() + 4\nwhile time.monotonic() < end: pass\nsys.exit(7)"
        self.assertEqual(self.run_rank(script), (7, 1, ""))


if __name__ == "__main__":
    unittest.main()
