"""install-packages: asks for what is missing and for nothing else, and says what to do where it may not."""
import unittest

from sandbox import Sandbox


class InstallPackages(Sandbox):
    def setUp(self):
        super().setUp()
        (self.root / "tools/dev/packages.txt").write_text("# why\nhere  # and why\n\nabsent\nremoved\n", encoding="utf-8")
        # A package that was removed is known to dpkg, but not installed.
        self.command("dpkg-query", 'case "${@: -1}" in here) echo installed;; removed) echo config-files;; *) exit 1;; esac')
        self.command("apt-get", "exit 0")
        self.command("id", "echo 0")

    def apt_calls(self):
        return [call for call in self.calls() if call.startswith("apt-get")]

    def test_root_installs_what_is_missing_and_nothing_else(self):
        self.assertEqual(self.run_tool("install-packages").returncode, 0)
        self.assertEqual(self.apt_calls(), ["apt-get update -q", "apt-get install -q -y --no-install-recommends absent removed"])

    def test_nothing_is_asked_or_said_where_nothing_is_missing(self):
        self.command("dpkg-query", "echo installed")
        result = self.run_tool("install-packages")
        self.assertEqual((result.returncode, result.stdout + result.stderr, self.apt_calls()), (0, "", []))

    def test_others_are_told_the_exact_command(self):
        self.command("id", "echo 1000")
        result = self.run_tool("install-packages")
        self.assertEqual((result.returncode, self.apt_calls()), (1, []))
        self.assertIn("sudo apt-get install --no-install-recommends -y absent removed\n", result.stderr)

    def test_a_failure_shows_what_apt_said(self):
        self.command("apt-get", "echo no route to the mirror; exit 100")
        result = self.run_tool("install-packages")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no route to the mirror", result.stderr)


if __name__ == "__main__":
    unittest.main()
