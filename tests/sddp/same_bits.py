"""Bounds, cuts and the last iteration have the same bits, however the program is run.

What one process computed is left for tools/dev/check-same-bits, which compares it between the MPI libraries.
"""

import shutil
import struct

from program import TINY, Program, check

program = Program()
shutil.rmtree(program.arguments.results, ignore_errors=True)  # those of an earlier run would hide that this one failed
# The stopping rule takes part: that all stop at the same iteration is part of the result.
case = [*TINY[:-1], 40, "--window", 3, "--tolerance", "1e-3"]
expected = program.result("local", 1, *case)
check(len(expected) > 10000, "the reference has computed something")
iterations = struct.unpack_from("=Q", expected, 16)[0]
check(3 < iterations < 40, f"it is the rule that stops: {iterations} iterations")
runs = 0
for backend, ranks in program.configurations(sockets=True):
    for threads in (1, 4):
        found = program.result(backend, ranks, *case, "--threads", threads)
        check(found == expected, f"{backend} on {ranks} ranks with {threads} threads gives other bits than one process")
        runs += 1

selected = program.result("local", 1, *case, "--select-cuts")
check(selected != expected, "selecting cuts changes something")
for backend, ranks in program.configurations(ranks=(3,), sockets=True):
    check(program.result(backend, ranks, *case, "--select-cuts", "--threads", 2) == selected,
          f"{backend} on {ranks} ranks gives other bits where cuts are selected")
    runs += 1
# More ranks than scenarios: some have nothing to solve, and must not be missed.
few = ["--stages", 3, "--scenarios", 2, "--openings", 3, "--iterations", 2]
reference = program.result("local", 1, *few)
for backend, ranks in program.configurations(ranks=(4,), sockets=True):
    check(program.result(backend, ranks, *few) == reference, f"{backend}: more ranks than scenarios give other bits")
    runs += 1
program.arguments.results.mkdir(parents=True)
for name, bits in {"plain": expected, "selected": selected, "few": reference}.items():
    (program.arguments.results / name).write_bytes(bits)
print(f"{runs} runs, the same {len(expected)} bytes")
