"""A case or an option that is wrong: file, field and reason, on one line, from one rank, and every rank ends."""

import json
import pathlib

from program import TINY, Program, check

program = Program()
small = json.loads((program.cases / "small.json").read_text(encoding="utf-8"))
small["hydros"][1]["turbine_max"] = "strong"
broken = program.file("broken.json")
pathlib.Path(broken).write_text(json.dumps(small), encoding="utf-8")
wrong = {
    (broken,): f"sddp: {broken}: hydros[1].turbine_max: must be a number, is string",
    ("no such file",): "sddp: no such file: cannot be read",
    ("--stages", "many"): 'sddp: --stages: must be a number from 2 to 1000000, is "many"',
    (*TINY, "--resume", broken): f"sddp: {broken}: is not a checkpoint",
}
for backend, ranks in program.configurations(ranks=(3,)):
    for arguments, complaint in wrong.items():
        job = program.run(backend, ranks, *arguments)
        check(job.returncode != 0, f"{backend}: {arguments} succeeded")
        said = [line for line in job.stderr.splitlines() if line.startswith("sddp:")]
        check(said == [complaint], f"{backend}: {arguments} said {said}")
        check(not job.stdout, f"{backend}: {arguments} printed {job.stdout}")
print(f"{len(wrong)} kinds of broken input")
