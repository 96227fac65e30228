"""place.sh: a script between launcher and program that binds each rank to its own cores."""

from __future__ import annotations

from hopbytes.formats.base import MARK
from hopbytes.formats.launching import Launch, number_list

_HEAD = """\
#!/bin/sh
# {mark}: binds each of {n} ranks to its cores, then starts the program.
# Use: LAUNCHER ... sh {name} PROGRAM ARGUMENTS
# Cores are numbers of the operating system, as taskset takes them.

# SLURM_PROCID comes last: mpirun inside a batch script inherits it as 0 in every rank.
rank=${{PMI_RANK:-${{OMPI_COMM_WORLD_RANK:-${{PALS_RANKID:-${{SLURM_PROCID:-}}}}}}}}
case $rank in
"""

_TAIL = """\
*)
    echo "{name}: rank '$rank' is none of 0 to {last}" >&2
    echo "{name}: looked at PMI_RANK, OMPI_COMM_WORLD_RANK, PALS_RANKID, SLURM_PROCID" >&2
    exit 1
    ;;
esac
OMP_NUM_THREADS=${{OMP_NUM_THREADS:-$threads}}
OMP_PLACES=${{OMP_PLACES:-cores}}
export OMP_NUM_THREADS OMP_PLACES
exec taskset -c "$cores" "$@"
"""


def place_script(launch: Launch, name: str = "place.sh") -> str:
    """Return a POSIX shell script that looks its rank up and binds it.

    It needs nothing but sh and taskset on the compute nodes. Where no rank is known it ends with an
    error instead of leaving the program unbound.
    """
    lines = []
    for rank in range(launch.n):
        cores = launch.cores(rank)
        lines.append(f"{rank}) cores={number_list(cores)} threads={len(cores)} ;;\n")
    head = _HEAD.format(mark=MARK, n=launch.n, name=name)
    return head + "".join(lines) + _TAIL.format(name=name, last=launch.n - 1)
