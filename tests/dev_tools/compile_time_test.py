"""bench/compile_time/measure.py: a file that takes longer to compile than it did, beside another one, is found."""
import json
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).parents[2] / "bench/compile_time/measure.py"
STEPS = 20_000  # of the compiler, for a file that costs 1: about a hundredth of a second
# Takes as long as the file says that it costs.
COMPILER = f"""#!/bin/sh
[ "$1" = --version ] && {{ echo a compiler 1.0; echo its licence; exit; }}
cost=$(sed -n 's/^cost //p' "$2")
[ -n "$cost" ] || exit 1
i=0
while [ $i -lt $((cost * {STEPS})) ]; do i=$((i + 1)); done
: > "$4"
"""


class CompileTime(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name).resolve()
        self.compiler = self.folder / "compiler"
        self.compiler.write_text(COMPILER, encoding="utf-8")
        self.compiler.chmod(0o755)
        self.provide(floor=1, header=4)

    def provide(self, **costs):
        entries = []
        for name, cost in costs.items():
            (self.folder / f"{name}.cpp").write_text(f"// A {name}.\ncost {cost}\n", encoding="utf-8")
            entries.append({"directory": str(self.folder), "command": f"{self.compiler} -c {name}.cpp -o no/such/{name}.o",
                            "file": f"{name}.cpp"})
        # What is compiled elsewhere is not looked at.
        entries.append({"directory": "/", "command": "false -o x", "file": "/elsewhere/floor.cpp"})
        (self.folder / "commands.json").write_text(json.dumps(entries), encoding="utf-8")

    def store(self, ratio, compiler="a compiler 1.0"):
        stored = {"compiler": compiler, "ratios": {"header": {"to": "floor", "ratio": ratio}}}
        (self.folder / "ratios.json").write_text(json.dumps(stored), encoding="utf-8")

    def measure(self, *options):
        return subprocess.run([TOOL, *options, self.folder / "commands.json", self.folder], capture_output=True, text=True, timeout=60,
                              check=False)

    def test_what_takes_as_long_as_it_did_passes(self):
        self.store(6)
        done = self.measure()
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertRegex(done.stdout, r"(?m)^header +\d+ +\d\.\d\d +6\.00  times floor   A header\.$")
        self.assertRegex(done.stdout, r"(?m)^floor +\d+ +A floor\.$")
        self.assertNotIn("stored with", done.stdout)

    def test_what_takes_longer_does_not(self):
        self.store(2)
        done = self.measure()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("<- more than 15 % larger", done.stdout)

    def test_a_file_without_a_stored_ratio_does_not_pass_either(self):
        self.store(6)
        self.provide(floor=1, header=4, another=1)
        done = self.measure()
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertRegex(done.stdout, r"(?m)^another .*<- there is no stored ratio")

    def test_a_file_that_is_not_compiled_any_more_is_named(self):
        self.store(6)
        self.provide(floor=1)
        done = self.measure()
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("does not say how to compile header\n", done.stderr)

    def test_another_compiler_than_was_stored_is_named(self):
        self.store(6, "a compiler 0.9")
        self.assertIn("stored with a compiler 0.9, measured with a compiler 1.0\n", self.measure().stdout)

    def test_the_ratios_of_now_can_be_stored(self):
        self.store(1, "a compiler 0.9")
        self.assertEqual(self.measure("--store").returncode, 0)
        stored = json.loads((self.folder / "ratios.json").read_text(encoding="utf-8"))
        self.assertEqual(stored["compiler"], "a compiler 1.0")
        self.assertTrue(2 < stored["ratios"]["header"]["ratio"] < 6, stored)

    def test_a_file_that_does_not_compile_is_no_small_ratio(self):
        self.store(6)
        (self.folder / "header.cpp").write_text("nothing that the compiler knows\n", encoding="utf-8")
        self.assertNotEqual(self.measure().returncode, 0)


if __name__ == "__main__":
    unittest.main()
