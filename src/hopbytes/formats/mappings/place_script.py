"""place.sh: a script that the launcher runs and that binds each rank before it starts the program."""

from __future__ import annotations

from collections.abc import Sequence

from hopbytes.formats.base import MARK
from hopbytes.formats.mappings.launch_files import Launch, number_list

#: Environment variables in which launchers pass the number of a rank. SLURM_PROCID is the last one, because
#: the ranks of an mpirun in a batch script all inherit the value 0.
RANK_VARIABLES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PALS_RANKID", "FLUX_TASK_RANK", "SLURM_PROCID")

_HEAD = """\
#!/bin/sh
# {mark}: {does}, then starts the program.
# Use: LAUNCHER ... sh {name} PROGRAM ARGUMENTS
{numbers}

# The first variable that is set counts. In a batch script other launchers inherit SLURM_PROCID as 0.
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

# Each vendor's runtime has its own variable, and setting two of them may hide every device.
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
_UNBOUND = "# The cores near the GPUs are unknown: ranks may run on all cores that the launcher gives them."

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
    """Return a POSIX shell script that determines its rank, binds it and shows it its GPU.

    The script needs only sh and taskset on the compute nodes. If it finds no rank, it ends with an error
    instead of starting the program without binding. If slots have no cores (the innermost level of the
    machine is ``gpu``), it does not bind and uses neither taskset nor settings of OpenMP.

    Parameters
    ----------
    launch : Launch
    name : str
        Name of the script in its messages.
    order : sequence of int, optional
        The task of the launcher's rank 0, 1, … (default: rank i is task i).
    variables : sequence of str
        Environment variables with the launcher's number of a process; the first one that is set counts.
    """
    lines = []
    for rank, task in enumerate(range(launch.n) if order is None else order):
        lines.append(f"{rank}) {_settings(launch, task)} ;;\n")
    lookup = ""
    for variable in reversed(variables):
        lookup = f"${{{variable}:-{lookup}}}"
    has_gpus = launch.has_gpus
    does = f"binds each of {launch.n} ranks to its cores{' and GPUs' if has_gpus else ''}"
    if not launch.binds:
        does = f"shows each of {launch.n} ranks its GPU, binds none to cores"
    head = _HEAD.format(
        mark=MARK, does=does, name=name, lookup=lookup, numbers=_NUMBERS if launch.binds else _UNBOUND,
        defaults="gpus=\n" if has_gpus else "",
    )
    tail = _TAIL.format(name=name, last=launch.n - 1, variables=", ".join(variables))
    start = _START if launch.binds else _START_UNBOUND
    return head + "".join(lines) + tail + (SHOW_GPUS if has_gpus else "") + start


def _settings(launch: Launch, task: int) -> str:
    """Return the shell assignments for one task."""
    gpus = launch.gpus(task)
    words = [f"gpus={','.join(map(str, gpus))}"] if gpus else []
    if launch.binds:
        threads = launch.threads_of_pe(int(launch.mapping.pe[task]))
        words = [f"cores={number_list(launch.cpus(task))}", f"threads={threads}", *words]
    return " ".join(words)
