"""tcp beside Open MPI over TCP and Gloo on this machine, and beside our own shm: see comparison.py.

usage: compare.py FOLDER [--ranks N …] [--operations NAME …] [--rounds N] [--effort X] [--json FILE]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "collectives"))

from comparison import GATHERED_SIZES, SIZES, Contest, main, mpi_libraries  # noqa: E402


def flat(folder, ranks):
    """Every byte through TCP, ours too."""
    gloo = folder / "tcp" / "bench_tcp_peer_gloo"
    if not gloo.exists():
        print("Gloo is not here and is left out", file=sys.stderr)
    return ({"tcp": ["env", "COBRE_TCP_SHARED_MEMORY=0", folder / "tcp" / "bench_tcp", ranks]} |
            mpi_libraries(folder, ranks, {"Open MPI": ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"]}) |
            ({"Gloo": [gloo, ranks]} if gloo.exists() else {}))


def as_used(folder, ranks):
    return {"tcp": [folder / "tcp" / "bench_tcp", ranks], "shm": [folder / "shm" / "bench_shm", ranks]}


def by_peer(open_mpi, gloo):
    return [{"Open MPI": a, "Gloo": b} for a, b in zip(open_mpi, gloo)]


def for_all(ratio):
    return {"barrier": {0: ratio}, "allreduce": dict.fromkeys(SIZES, ratio), "broadcast": dict.fromkeys(SIZES, ratio),
            "allgatherv": dict.fromkeys(GATHERED_SIZES, ratio)}


def contests(folder):
    yield Contest(
        ours="tcp",
        title="tcp without shared memory",
        peers=("Open MPI", "Gloo"),
        contestants=flat,
        bars=for_all(0.95) | {
            "barrier": {0: {"Open MPI": 1.4, "Gloo": 10}},
            "allreduce": dict(zip(SIZES, by_peer([1.4, 1.4, 1.1, 1.1, 1.1, 1.2], [10, 10, 10, 1.0, 1.2, 1.2]))),
        },
        crowded_bars=dict.fromkeys(("barrier", "allreduce", "broadcast", "allgatherv"), 1.2),
    )
    if (folder / "shm" / "bench_shm").exists():
        within = 1 / 1.3
        yield Contest(
            ours="tcp",
            title="tcp as used on one host",
            peers=("shm",),
            contestants=as_used,
            bars=for_all(within),
            crowded_bars=dict.fromkeys(("barrier", "allreduce", "broadcast", "allgatherv"), within),
        )


main(__doc__.splitlines()[0], contests, ranks=[2, 4])
