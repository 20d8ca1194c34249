"""run-tests: nothing that failed is lost on the way to the last line."""
import json
import signal
import subprocess
import time
import unittest
from pathlib import Path

from sandbox import Sandbox


class RunTests(Sandbox):
    def setUp(self):
        super().setUp()
        names = ("one", "two")
        presets = {
            "configurePresets": [{"name": name, "displayName": f"the configuration {name}"} for name in names],
            "testPresets": [{"name": name, "configurePreset": name} for name in names],
        }
        (self.root / "CMakePresets.json").write_text(json.dumps(presets), encoding="utf-8")
        self.command("cmake", "exit 0")
        self.results(one=["run", "run"], two=["run"])

    def results(self, code=0, **statuses):
        """What ctest writes for each configuration."""
        for name, cases in statuses.items():
            lines = "".join(f'<testcase name="{name}.{i}" time="1.5" status="{status}"><system-out>said so</system-out></testcase>'
                            for i, status in enumerate(cases))
            (self.root / f"{name}.xml").write_text(f"<testsuite>{lines}</testsuite>", encoding="utf-8")
        self.command("ctest", f'mkdir -p "{self.root}/build/$2"\ncp "{self.root}/$2.xml" "${{@: -1}}"\nexit {code}')

    def outcome(self, *arguments):
        result = self.run_tool("run-tests", "--jobs", "1", *(arguments or ("one", "two")))
        return result.returncode, result.stdout.splitlines()[-1], result.stdout

    def test_passes_are_summed_over_the_configurations(self):
        self.assertEqual(self.outcome()[:2], (0, "3 passed, 0 failed"))

    def test_a_failed_test_fails_the_whole_and_is_shown(self):
        self.results(code=8, one=["run", "fail"], two=["run"])
        code, last, text = self.outcome()
        self.assertEqual((code, last), (1, "2 passed, 2 failed"))  # ctest says so for both configurations
        self.assertIn("one.1: fail", text)
        self.assertIn("failed in one: one.1 after 2 s\none.1:\n  | said so\n", text.partition("configuration ")[2])

    def test_a_skipped_test_has_not_passed(self):
        for status in ("notrun", "skipped"):
            self.results(one=["run", status], two=["run"])
            self.assertEqual(self.outcome()[:2], (1, "2 passed, 1 failed"))

    def test_a_configuration_that_does_not_build_fails_the_whole_but_not_the_others(self):
        self.command("cmake", 'case "$*" in *--build*one*) echo broken code; exit 1;; esac')
        code, last, text = self.outcome()
        self.assertEqual((code, last), (1, "1 passed, 1 failed"))
        self.assertIn("| broken code", text)

    def test_the_next_configuration_is_compiled_while_tests_run(self):
        self.command("cmake", f'case "$*" in *--build*two*) touch "{self.root}/compiled";; esac')
        waiting = f'for i in $(seq 1200); do [ -e "{self.root}/compiled" ] && break; sleep 0.05; done; [ -e "{self.root}/compiled" ] || exit 1'
        self.command("ctest", f'{waiting}\nmkdir -p "{self.root}/build/$2"\ncp "{self.root}/$2.xml" "${{@: -1}}"')
        self.assertEqual(self.outcome()[:2], (0, "3 passed, 0 failed"))

    def test_compiling_leaves_the_cores_to_tests(self):
        self.command("cmake", f'chrt --pid $$ > "{self.root}/policy"')
        self.outcome("one")
        self.assertIn("SCHED_IDLE", (self.root / "policy").read_text(encoding="utf-8"))

    def test_whoever_interrupts_it_ends_what_it_started_aside(self):
        for interrupt in (signal.SIGINT, signal.SIGTERM):
            begun = self.root / f"begun{interrupt}"
            self.command("cmake", f'echo $$ > "{begun}.part"; mv "{begun}.part" "{begun}"; exec sleep 60')
            with subprocess.Popen(**self.start("run-tests", "one"), stdout=subprocess.PIPE) as tool:
                while not begun.exists():
                    time.sleep(0.01)
                tool.send_signal(interrupt)
                tool.communicate(timeout=60)
            self.assertNotEqual(tool.returncode, 0)
            self.assertFalse(Path(f"/proc/{begun.read_text(encoding='utf-8').strip()}").exists())

    def test_no_tests_at_all_is_no_success(self):
        self.results(one=[], two=[])
        self.assertEqual(self.outcome()[:2], (1, "0 passed, 0 failed"))

    def test_a_check_of_the_sources_that_fails_fails_the_whole(self):
        (self.root / "tools/dev/format").write_text("#!/bin/sh\necho badly laid out\nexit 1\n", encoding="utf-8")
        for check in ("check-same-bits", "check-layers", "check-files", "build-docs", "check-options", "lint"):
            (self.root / "tools/dev" / check).write_text("#!/bin/sh\n", encoding="utf-8")
        result = self.run_tool("run-tests", "--jobs", "1")
        self.assertEqual((result.returncode, result.stdout.splitlines()[-1]), (1, "9 passed, 1 failed"))
        self.assertIn("| badly laid out", result.stdout)


if __name__ == "__main__":
    unittest.main()
