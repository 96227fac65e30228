"""place.sh: a script between launcher and program that binds each rank to its own cores and GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from hopbytes.formats.base import MARK
from hopbytes.formats.mappings.launch_files import Launch, number_list

#: Where launchers leave a rank's number. SLURM_PROCID comes last: mpirun inside a batch script inherits it
#: as 0 in every rank.
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "FLUX_TASK_RANK", "SLURM_PROCID")

_HEAD = """\
#!/bin/sh
# {mark}: {does}, then starts the program.
# Use: LAUNCHER ... sh {name} PROGRAM ARGUMENTS
{numbers}

# The last comes last because other launchers inside its batch script inherit it as 0 in every rank.
rank={lookup}
{defaults}case $rank in
"""

_TAIL = """\
*)
    echo "{name}: rank '$rank' is none of 0 to {last}" >&2
    echo "{name}: looked at {variables}" >&2
    exit 1
    ;;
esac
"""

# A device list means something else to each vendor's runtime, and two of them at once may hide every device.
SHOW_GPUS = """\
if [ -n "$gpus" ]; then
    if [ -e /dev/kfd ] && [ ! -e /dev/nvidiactl ]; then
        ROCR_VISIBLE_DEVICES=$gpus
        export ROCR_VISIBLE_DEVICES
    elif [ -e /dev/dri/renderD128 ] && [ ! -e /dev/nvidiactl ]; then
        ZE_AFFINITY_MASK=$gpus
        export ZE_AFFINITY_MASK
    else
        CUDA_VISIBLE_DEVICES=$gpus
        export CUDA_VISIBLE_DEVICES
    fi
fi
"""

_NUMBERS = "# Cores are numbers of the operating system, as taskset takes them."
_UNBOUND = "# Nothing is known about cores near the GPUs: ranks may run on all that the launcher gives them."

_START = """\
OMP_NUM_THREADS=${OMP_NUM_THREADS:-$threads}
OMP_PLACES=${OMP_PLACES:-cores}
export OMP_NUM_THREADS OMP_PLACES
exec taskset -c "$cores" "$@"
"""

_START_UNBOUND = """\
exec "$@"
"""


def place_script(
    launch: Launch,
    name: str = "place.sh",
    order: Sequence[int] | None = None,
    variables: Sequence[str] = RANK_VARIABLES,
) -> str:
    """Return a POSIX shell script that looks its rank up and binds it, or shows it its GPU alone.

    It needs nothing but sh and taskset on the compute nodes. Where no rank is known it ends with an
    error instead of leaving the program unbound. Slots without cores (a machine that ends with a level
    ``gpu``) bind nothing, and neither taskset nor settings for OpenMP are used.

    Parameters
    ----------
    launch : Launch
    name : str
        What messages call the script.
    order : sequence of int, optional
        The task that the launcher's rank 0, 1, … becomes (default: rank i is task i).
    variables : sequence of str
        Environment variables with the launcher's number of a process; the first that is set counts.
    """
    lines = []
    for rank, task in enumerate(range(launch.n) if order is None else order):
        lines.append(f"{rank}) {_settings(launch, task)} ;;\n")
    lookup = ""
    for variable in reversed(variables):
        lookup = f"${{{variable}:-{lookup}}}"
    carries = launch.carries
    does = f"binds each of {launch.n} ranks to its cores{' and GPUs' if carries else ''}"
    if not launch.binds:
        does = f"shows each of {launch.n} ranks its GPU, binds none to cores"
    head = _HEAD.format(
        mark=MARK, does=does, name=name, lookup=lookup, numbers=_NUMBERS if launch.binds else _UNBOUND,
        defaults="gpus=\n" if carries else "",
    )
    tail = _TAIL.format(name=name, last=launch.n - 1, variables=", ".join(variables))
    start = _START if launch.binds else _START_UNBOUND
    return head + "".join(lines) + tail + (SHOW_GPUS if carries else "") + start


def _settings(launch: Launch, task: int) -> str:
    """Return what the script sets for one task."""
    gpus = launch.gpus(task)
    words = [f"gpus={','.join(map(str, gpus))}"] if gpus else []
    if launch.binds:
        threads = launch.threads_of_pe(int(launch.mapping.pe[task]))
        words = [f"cores={number_list(launch.cpus(task))}", f"threads={threads}", *words]
    return " ".join(words)
