"""Fails if a probe_… function in an object file leaves its own code on the success path.

usage: check_no_calls.py OBJDUMP OBJECT [--must-find FUNCTION…]

The failure path of a check ends in one of the library's throw_… functions: a call of those is allowed, and so is a jump
into the cold part that a compiler made of it, and what a communicator that sent messages to itself leaves to be done when it goes.
Whoever has the library make a communicator calls it for that, by name. Every other call, and every jump to another function or
through a pointer, is not.
"""

import re
import subprocess
import sys

FAILURE_PATH = re.compile(r"cobre4comm6detail\d+throw_|cobre4comm6detail9LocalMail6let_go|\.cold|\.text\.unlikely")
MAKES_A_COMMUNICATOR = "_ZN5cobre4comm19create_communicatorENS0_11BackendKindE"
INDIRECT = re.compile(r"\t(?:call|jmp)q?\s+\*")
FUNCTION = re.compile(r"^[0-9a-f]+ <([^>]+)>:$")
LEAVES = re.compile(r"\t(?:call|jmp|j[a-z]+)q?\s+\S+ <([^>+]+)")
RELOCATION = re.compile(r"^\s+[0-9a-f]+: R_X86_64_(\S+)\s+(\S+?)(?:[+-]0x[0-9a-f]+)?$")


def calls_of(objdump, path):
    """Maps each function to the symbols that it calls or jumps to outside itself and outside the failure path."""
    text = subprocess.run([objdump, "--disassemble", "--reloc", "--no-show-raw-insn", path],
                          check=True, capture_output=True, text=True).stdout
    calls, function, pending = {}, None, None
    for line in text.splitlines() + [""]:
        relocation = RELOCATION.match(line)
        if pending:
            target = relocation.group(2) if relocation else pending
            if target not in (function, MAKES_A_COMMUNICATOR) and not FAILURE_PATH.search(target):
                calls[function].append(target)
            pending = None
        if header := FUNCTION.match(line):
            function = header.group(1)
            calls.setdefault(function, [])
        elif function and (jump := LEAVES.search(line)):
            pending = jump.group(1)
        elif function and INDIRECT.search(line):
            calls[function].append("a call through a pointer")
    return calls


def main():
    objdump, path = sys.argv[1:3]
    calls = calls_of(objdump, path)
    if len(sys.argv) > 3:
        for control in sys.argv[4:]:
            if not calls.get(control):
                sys.exit(f"found no call in {control}, which makes some: the check is blind")
        return
    probes = {name: targets for name, targets in calls.items()
              if name.startswith("probe_") and not FAILURE_PATH.search(name)}
    if len(probes) < 9:
        sys.exit(f"only {len(probes)} probes in {path}: the check would prove nothing")
    bad = [f"{name} -> {target}" for name, targets in probes.items() for target in targets]
    if bad:
        sys.exit("calls on the success path:\n  " + "\n  ".join(bad))
    print(f"{len(probes)} functions, no call on any success path")


main()
