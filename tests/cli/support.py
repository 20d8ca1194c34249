"""What the tests of the command share: the two programs, running them, and what is left of them afterwards."""
import os
import re
import subprocess
import sys
import time
import unittest
from pathlib import Path

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "support"))
import own_mpi_directory  # noqa: E402, F401

COMMAND = os.environ["COBRE_COMM_COMMAND"]
RANKS = os.environ["COBRE_COMM_TEST_RANKS"]
LIMIT = 30  # seconds, for anything
STARTED = []  # by the test that runs
PAGE = Path(__file__).parents[2] / "docs/command.md"
SAMPLES = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)  # of what the launcher says


def start(*arguments, **how):
    how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | how
    STARTED.append(subprocess.Popen([COMMAND, *map(str, arguments)], **how))
    return STARTED[-1]


def run(*arguments, input=None, command=COMMAND, **how):
    how = {"capture_output": True, "text": True, "timeout": LIMIT} | how
    if input is None:
        how.setdefault("stdin", subprocess.DEVNULL)
    else:
        how["input"] = input
    return subprocess.run([command, *map(str, arguments)], check=False, **how)


def write_script(file, text):
    """All at once: the classes of a file run at the same time, and another one may be executing it."""
    draft = f"{file}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(draft, 0o755)
    os.replace(draft, file)


def form_of(line):
    """Without what no two jobs have in common: processes, the signal, the time, and how many were still running."""
    line = re.sub(r"\(pid \d+ on \S+\)", "(pid … on …)", line.strip())
    line = re.sub(r"signal \d+ \(SIG\w+\)", "signal …", line)
    line = re.sub(r"after [\d.]+ s \(--timeout\)", "after … s (--timeout)", line)
    return re.sub(r"; ending the other \d+$", "", line)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or before it was read
        return False


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
            return [int(child) for child in children.read().split()]
    except (FileNotFoundError, ProcessLookupError):  # gone before it was opened, or before it was read
        return []


def descendants_of(pid):
    found = children_of(pid)
    for child in list(found):
        found += descendants_of(child)
    return found


class CommandTest(unittest.TestCase):
    maxDiff = None

    def tearDown(self):
        """A test that failed leaves nothing running: a launcher that is killed takes its ranks with it."""
        while STARTED:
            job = STARTED.pop()
            if job.poll() is None:
                job.kill()
                job.wait(LIMIT)
            for stream in (job.stdout, job.stderr):
                if stream is not None:
                    stream.close()

    def expect_as_on_the_page(self, line):
        self.assertIn(form_of(line), list(map(form_of, SAMPLES)), f"{PAGE} shows no such line")

    def wait_until(self, condition, what, seconds=LIMIT):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.01)

    def wait_for_rest(self, pid):
        """Until it has nothing to do but to wait: one that is kept from running by a busy machine is not at rest."""
        looks = 0

        def rests():
            nonlocal looks
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                state = stat.read().rpartition(")")[2].split()[0]
            looks = 0 if state in "RD" else looks + 1
            return looks == 5

        self.wait_until(rests, f"process {pid} does not come to rest")

    def expect_gone(self, pids, seconds=2):
        self.wait_until(lambda: not any(map(is_alive, pids)), f"some of {pids} are still alive", seconds)

    def expect_within(self, seconds, attempt, least=0.0):
        """What `attempt` checks holds each time; the seconds that it tells may be more on a machine with other things to do,
        but not three times in a row."""
        took = []
        while not took or (took[-1] >= seconds and len(took) < 3):
            took.append(attempt())
            self.assertGreater(took[-1], least)
        self.assertLess(took[-1], seconds, took)

    def expect_ending_in_steps(self, *options):
        """Of four ranks the last one fails: the others are left alone for a second, then asked, then killed, and all is over
        within two seconds; or as soon as they have been asked, where they listen."""
        for listens in (True, False):
            script = ('test "$COBRE_SHM_RANK$COBRE_TCP_RANK" = 3 && { sleep 0.3; echo failed $(date +%s.%N); exit 7; }\n'
                      f"trap 'echo asked $(date +%s.%N){'; exit 0' if listens else ''}' TERM\n"
                      "while :; do sleep 0.02; done")

            def fail(listens=listens, script=script):
                job = run("run", *options, "--", "sh", "-c", script)
                ended = time.time()
                self.assertEqual(job.returncode, 7, job.stderr)
                failed = float(re.search(r"failed (\S+)", job.stdout).group(1))
                asked = [float(moment) - failed for moment in re.findall(r"asked (\S+)", job.stdout)]
                self.assertTrue(all(moment > 1.0 for moment in asked), asked)
                if len(asked) < 3:
                    return float("inf")  # a shell that gets no core for so long is killed before it has said so
                if listens:
                    return ended - failed
                if ended - failed <= max(asked) + 0.4:
                    return float("inf")  # likewise: they have that long to end after they were asked
                return max(ended - failed, max(asked) + 0.6)

            with self.subTest(listens=listens):
                self.expect_within(1.5 if listens else 2.0, fail, least=1.0)

    def ended(self, job):
        """The output of a job that was started, and the end of it."""
        out, err = job.communicate(timeout=LIMIT)
        return out, err
