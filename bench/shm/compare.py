"""shm beside Open MPI and MPICH on this machine, and beside what the hardware can do: see comparison.py.

usage: compare.py FOLDER [--ranks N …] [--operations NAME …] [--rounds N] [--effort X] [--json FILE]
"""

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "collectives"))

from comparison import GATHERED_SIZES, SIZES, Contest, main, mpi_libraries  # noqa: E402


def contests(folder):
    hardware = subprocess.run([folder / "shm" / "bench_shm_limits"], check=True, capture_output=True, text=True).stdout
    limits = {(row[0], int(row[1])): float(row[2]) for row in map(str.split, hardware.splitlines())}

    def one_core_needs(operation, size):
        """What each of two ranks must do at least, where that can be said."""
        if operation == "barrier":
            return f"flags {limits[('flag_exchange', 0)]:.3f}"
        if ("memcpy", size) not in limits:
            return ""
        names = {"allreduce": ["add"], "regions": ["add"], "broadcast": ["memcpy", "readv"], "allgatherv": ["memcpy"]}
        return ", ".join(f"{name} {limits[(name, size)]:.2f}" for name in names[operation])

    yield Contest(
        ours="shm",
        title="shm; on the right what one core alone needs",
        peers=("Open MPI", "MPICH"),
        contestants=lambda where, ranks: {"shm": [where / "shm" / "bench_shm", ranks]} | mpi_libraries(where, ranks),
        bars={
            "barrier": {0: 2.2},
            "allreduce": dict(zip(SIZES, [2.8, 2.2, 1.6, 1.7, 1.5, 2.4])),
            "broadcast": dict(zip(SIZES, [1.4, 1.7, 1.4, 1.4, 1.7, 1.7])),
            "allgatherv": dict(zip(GATHERED_SIZES, [1.9, 2.0, 1.3, 1.0, 1.0, 1.0])),
            "regions": {SIZES[-1]: 4.0},  # allreduce of buffers that lie in shared regions
        },
        crowded_bars={"barrier": 1.5, "allreduce": 1.5, "broadcast": 1.0, "allgatherv": 1.0},
        beside=one_core_needs,
        substitutes={"regions": "allreduce"},  # the peers' buffers lie where they like
    )


main(__doc__.splitlines()[0], contests, ranks=[2, 4, 8])
