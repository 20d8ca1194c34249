"""What a second core is worth to the reference application: its medium case on one rank and on two, one after the other.

usage: sddp_scaling.py COMMAND SDDP CASE [options of sddp …]
"""

import json
import os
import subprocess
import sys
import tempfile

BAR = 0.6  # of the time that one rank takes
command, program, case, *options = sys.argv[1:]


def measured(*launcher, backend):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "result.json")
        subprocess.run([*launcher, program, case, *options, "--json", file], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "COBRE_COMM_BACKEND": backend})
        with open(file, encoding="utf-8") as result:
            return json.load(result)


one = measured(backend="local")
two = measured(command, "run", "-n", "2", backend="shm")
if one["lower_bound"] != two["lower_bound"]:
    sys.exit(f"other bits: {one['lower_bound']!r} and {two['lower_bound']!r}")
alone, together = one["times"][0]["total"], max(times["total"] for times in two["times"])
waits = " and ".join(f"{times['wait']:.1f}" for times in two["times"])
communicates = 1e3 * two["times"][0]["communicate"]
share = together / alone
print(f"sddp, {one['case']['name']} case, {one['iterations']} iterations: one rank {alone:.1f} s, two of shm {together:.1f} s, "
      f"{share:.2f} of it where {BAR} is the most{'' if share <= BAR else '  <- misses its bar'}")
print(f"two ranks communicated for {communicates:.1f} ms ({100 * two['communication_share']:.3f} % of the time) "
      f"and waited {waits} s; imbalance of solving {two['imbalance']:.3f}")
