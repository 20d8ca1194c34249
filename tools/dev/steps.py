"""One step of a build: a command whose output goes to a log, of which only the end is shown, and only on failure."""
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TAIL = 40


def cores():
    return len(os.sched_getaffinity(0))


def build_folder(preset):
    return ROOT / "build" / preset


def show(text, end="\n"):
    print(text, end=end, flush=True)


def tail(log):
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines[-TAIL:]:
        show(f"    | {line}")
    show(f"    the whole log: {log.relative_to(ROOT)}")


def step(what, command, log, show_tail=True):
    """Runs a command, says how long it took, and returns (succeeded, seconds)."""
    log.parent.mkdir(parents=True, exist_ok=True)
    show(f"  {what:<12}", end="")
    begin = time.monotonic()
    with log.open("wb") as file:
        code = subprocess.run(command, cwd=ROOT, stdout=file, stderr=subprocess.STDOUT, check=False).returncode
    seconds = time.monotonic() - begin
    show(f"{seconds:6.0f} s" + ("" if code == 0 else f"   failed (exit code {code})"))
    if code != 0 and show_tail:
        tail(log)
    return code == 0, seconds


def configure(preset, options=()):
    return step("configure", ["cmake", "--preset", preset, *options], build_folder(preset) / "configure.log")


def build(preset, jobs, target=None):
    command = ["cmake", "--build", str(build_folder(preset)), "--parallel", str(jobs)]
    return step("build", command + (["--target", target] if target else []), build_folder(preset) / "build.log")


def stop_unless(succeeded):
    if not succeeded:
        sys.exit(1)
