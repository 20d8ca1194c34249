"""One step of a build: a command whose output goes to a log, of which only the end is shown, and only on failure."""
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
TAIL = 40
# Takes only what others leave of the cores. The kernel compares such commands with others of their session only, and sessions by
# their autogroups, where it has these.
ASIDE = ["sh", "-c", '{ echo 19 > /proc/self/autogroup; chrt --idle --pid 0 $$; } 2> /dev/null; exec "$@"', "aside"]

_printing = threading.RLock()
_aside = set()  # what runs aside now


def cores():
    return len(os.sched_getaffinity(0))


def build_folder(preset):
    return ROOT / "build" / preset


def show(text):
    with _printing:
        print(text, flush=True)


def tail(log):
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    for line in lines[-TAIL:]:
        show(f"    | {line}")
    show(f"    the whole log: {log.relative_to(ROOT)}")


def step(what, command, log, show_tail=True, aside=False):
    """Runs a command, says how long it took, and returns (succeeded, seconds)."""
    log.parent.mkdir(parents=True, exist_ok=True)
    show(f"  {what} …")
    begin = time.monotonic()
    with log.open("wb") as file:
        options = {"cwd": ROOT, "stdout": file, "stderr": subprocess.STDOUT}
        code = run_aside(command, options) if aside else subprocess.run(command, **options, check=False).returncode
    seconds = time.monotonic() - begin
    with _printing:
        show(f"  {what:<19}{seconds:6.0f} s" + ("" if code == 0 else f"   failed (exit code {code})"))
        if code != 0 and show_tail:
            tail(log)
    return code == 0, seconds


def run_aside(command, options):
    with subprocess.Popen([*ASIDE, *command], start_new_session=True, **options) as process:
        _aside.add(process)
        try:
            return process.wait()
        finally:
            _aside.discard(process)


def end_what_runs_aside():
    """It has a session of its own, which an interrupt from the terminal does not reach."""
    for process in list(_aside):
        os.killpg(process.pid, signal.SIGTERM)


def configure(preset, options=(), aside=False):
    log = build_folder(preset) / "configure.log"
    return step(f"{preset} configure", ["cmake", "--preset", preset, *options], log, aside=aside)


def build(preset, jobs, target=None, aside=False):
    command = ["cmake", "--build", str(build_folder(preset)), "--parallel", str(jobs)]
    command += ["--target", target] if target else []
    return step(f"{preset} build", command, build_folder(preset) / "build.log", aside=aside)


def stop_unless(succeeded):
    if not succeeded:
        sys.exit(1)
