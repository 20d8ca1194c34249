#!/usr/bin/env python3
"""How long the files of a folder take to compile, beside how long they took when that was stored.

usage: measure.py [--store] <compile_commands.json> [folder]

Each file is compiled several times, in turns with the others; the least time of a processor counts, because everything else is the
machine's business. What is compared is the ratio to another file, as ratios.json in the folder names it: exit code 1 where
one became more than 15 % larger, or could not be compared. --store writes the ratios of now.
"""
import argparse
import json
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 5
TOLERATED = 0.15


def commands_of(database, folder):
    """Of each file of the folder, by its name: the command and where it is given."""
    entries = json.loads(Path(database).read_text(encoding="utf-8"))
    files = {Path(entry["directory"], entry["file"]).resolve(): entry for entry in entries}
    return {file.stem: (shlex.split(entry["command"]), entry["directory"]) for file, entry in files.items() if file.parent == folder}


def seconds_of(command, directory, output):
    command = [*command]
    command[command.index("-o") + 1] = str(output)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=directory, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(commands):
    best = {}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(ROUNDS):
            for name, (command, directory) in commands.items():
                taken = seconds_of(command, directory, Path(scratch, "object"))
                best[name] = min(taken, best.get(name, taken))
    return best


def compiler_of(commands):
    compiler = next(iter(commands.values()))[0][0]
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout.partition("\n")[0]


def report(folder, seconds, stored):
    """A line for each file; how many became larger or could not be compared."""
    faults = 0
    print(f"{'file':<14}{'ms':>8}  {'ratio':>6}{'was':>8}")
    for name, taken in seconds.items():
        line = f"{name:<14}{1e3 * taken:8.0f}  "
        if name in stored:
            to, was = stored[name]["to"], stored[name]["ratio"]
            ratio = taken / seconds[to]
            line += f"{ratio:6.2f}{was:8.2f}  times {to}"
            if ratio > was * (1 + TOLERATED):
                line += f"  <- more than {100 * TOLERATED:.0f} % larger"
                faults += 1
        elif not any(one["to"] == name for one in stored.values()):
            line += "  <- there is no stored ratio"
            faults += 1
        comment = Path(folder, f"{name}.cpp").read_text(encoding="utf-8").partition("\n")[0]
        print(f"{line}   {comment.removeprefix('// ')}")
    return faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", action="store_true", help="write ratios.json instead of comparing with it")
    parser.add_argument("database", help="the commands, as CMake writes them")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    file = folder / "ratios.json"
    document = json.loads(file.read_text(encoding="utf-8"))
    stored = document["ratios"]
    commands = commands_of(arguments.database, folder)
    named = set(stored) | {one["to"] for one in stored.values()}
    if missing := named - set(commands):
        print(f"measure.py: {arguments.database} does not say how to compile {', '.join(sorted(missing))}", file=sys.stderr)
        return 1

    compiler = compiler_of(commands)
    seconds = measure(commands)
    if arguments.store:
        for name, one in stored.items():
            one["ratio"] = round(seconds[name] / seconds[one["to"]], 2)
        document["compiler"] = compiler
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    elif document["compiler"] != compiler:
        print(f"stored with {document['compiler']}, measured with {compiler}")
    faults = report(folder, seconds, stored)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
