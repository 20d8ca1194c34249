"""Fails unless an object file has some instructions, or none, that match an expression.

usage: check_instructions.py OBJDUMP OBJECT (--some | --none) INSTRUCTION [FUNCTION]

Both are regular expressions: INSTRUCTION of the mnemonic and its operands, FUNCTION of the mangled names of the functions
that are looked at, all of them if it is left out.
"""

import re
import subprocess
import sys

FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")


def instructions(objdump, path):
    """Pairs of a function and one of its instructions."""
    text = subprocess.run([objdump, "--disassemble", "--no-show-raw-insn", path],
                          check=True, capture_output=True, text=True).stdout
    function = None
    for line in text.splitlines():
        if header := FUNCTION.match(line):
            function = header.group(1)
        elif function and "\t" in line:
            yield function, line.split("\t", 1)[1].strip()


def main():
    objdump, path, wanted, instruction = sys.argv[1:5]
    of_function = sys.argv[5] if len(sys.argv) > 5 else ""
    looked_at = [pair for pair in instructions(objdump, path) if re.search(of_function, pair[0])]
    if not looked_at:
        sys.exit(f"no function of {path} matches '{of_function}': the check would prove nothing")
    found = [f"{function}: {text}" for function, text in looked_at if re.match(instruction, text)]
    if wanted == "--some" and not found:
        sys.exit(f"none of {len(looked_at)} instructions matches '{instruction}'")
    if wanted == "--none" and found:
        sys.exit(f"{len(found)} instructions match '{instruction}':\n  " + "\n  ".join(found[:20]))
    print(f"{len(found)} of {len(looked_at)} instructions match '{instruction}'")


main()
