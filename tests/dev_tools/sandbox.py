"""A copy of tools/dev in a folder of its own, with other commands in the place of those that would change the machine."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).parents[2]


class Sandbox(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name)
        shutil.copytree(ROOT / "tools/dev", self.root / "tools/dev")
        (self.root / "bin").mkdir()

    def command(self, name, script):
        """Puts a command in front of the real one. What it is called with ends up in calls()."""
        file = self.root / "bin" / name
        file.write_text(f'#!/usr/bin/env bash\necho "{name} $*" >> "{self.root}/calls"\n{script}\n', encoding="utf-8")
        file.chmod(0o755)

    def calls(self):
        file = self.root / "calls"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []

    def start(self, name, *arguments):
        """What a process is made of that runs one of the tools."""
        environment = {**os.environ, "PATH": f"{self.root / 'bin'}:{os.environ['PATH']}"}
        return {"args": [str(self.root / "tools/dev" / name), *arguments], "env": environment}

    def run_tool(self, name, *arguments):
        return subprocess.run(**self.start(name, *arguments), capture_output=True, text=True, check=False)
