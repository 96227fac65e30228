"""place.sh: a script that the launcher runs and that binds each rank before it starts the program."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from textwrap import indent

from hopbytes.formats.base import MARK
from hopbytes.formats.mappings.launch_files import Launch
from hopbytes.formats.mappings.launchers import RANK_VARIABLES
from hopbytes.text.cpu_lists import format_list

# Each maker's runtime has its own variable. HIP obeys those of others too, and two may hide every device.
_ASK_MAKER = """\
if [ -e /dev/kfd ] && [ ! -e /dev/nvidiactl ]; then
    maker=amd
elif [ -e /dev/dri/renderD128 ] && [ ! -e /dev/nvidiactl ]; then
    maker=intel
fi
"""
_BUS_ORDER = """\
# GPUs are numbered by their addresses on the bus, as nvidia-smi does.
CUDA_DEVICE_ORDER=PCI_BUS_ID
export CUDA_DEVICE_ORDER
"""

_NUMBERS = "# Cores are numbers of the operating system, as taskset takes them."
_UNBOUND = "# The cores near the GPUs are unknown: ranks may run on all cores that the launcher gives them."

_START = """\
OMP_NUM_THREADS=${OMP_NUM_THREADS:-$threads}
OMP_PLACES=${OMP_PLACES:-cores}
export OMP_NUM_THREADS OMP_PLACES
exec taskset -c "$cores" "$@"
"""


def template(name: str) -> str:
    """Return a file of this package of which launch files are made."""
    return files("hopbytes").joinpath(f"formats/mappings/{name}").read_text()


def place_script(
    launch: Launch, order: Sequence[int] | None = None, variables: Sequence[str] = RANK_VARIABLES
) -> str:
    """Return a POSIX shell script that determines its rank, binds it and shows it its GPU."""
    # The script needs only sh and taskset on the compute nodes. If it finds no rank, it ends with an error
    # instead of starting the program without binding. If slots have no cores (the innermost level of the
    # machine is ``gpu``), it does not bind and uses neither taskset nor settings of OpenMP. `order` is the
    # task of every number in the variables, by default that number.
    known = [gpu for pe in launch.pes for gpu in launch.mapping.where.known_gpus(pe)]
    makers = {gpu.maker for gpu in known}
    has_gpus, tasks = launch.has_gpus, range(launch.n) if order is None else order
    lookup = ""
    for variable in reversed(variables):
        lookup = f"${{{variable}:-{lookup}}}"
    does = f"binds each of {launch.n} ranks to its cores{' and GPUs' if has_gpus else ''}"
    if not launch.binds:
        does = f"shows each of {launch.n} ranks its GPU, binds none to cores"
    settings = (f"{rank}) {_settings(launch, task, makers)} ;;\n" for rank, task in enumerate(tasks))
    parts = [template("place.sh.in").format(
        mark=MARK, does=does, lookup=lookup, numbers=_NUMBERS if launch.binds else _UNBOUND,
        defaults=f"gpus= maker={''.join(makers) if len(makers) == 1 else ''}\n" if has_gpus else "",
        cases="".join(settings), last=launch.n - 1, variables=", ".join(variables),
    )]
    if has_gpus and not (known and all(makers)):
        parts.append(f'if [ -n "$gpus" ] && [ -z "$maker" ]; then\n{indent(_ASK_MAKER, "    ")}fi\n')
    if has_gpus and any(gpu.maker == "nvidia" and not gpu.name.startswith("cuda") for gpu in known):
        parts.append(_BUS_ORDER)
    if has_gpus:
        # A list in the environment names the GPUs of the job: numbers, or identifiers (of MIG instances), of
        # which number i stands for entry i. Another GPU than these is none of the job's, and words such as
        # -1 or none hide all GPUs.
        parts.append(template("show_gpus.sh"))
    return "".join([*parts, _START if launch.binds else 'exec "$@"\n'])


def _settings(launch: Launch, task: int, makers: set[str]) -> str:
    pe, gpus = int(launch.mapping.pe[task]), launch.shown_gpus(task)
    words = [f"gpus={','.join(gpus)}"] if gpus else []
    if len(makers) > 1:
        own = {gpu.maker for gpu in launch.mapping.where.known_gpus(pe)}
        words += [f"maker={maker}" for maker in sorted(own - {""})[:1]]
    if launch.binds:
        words = [f"cores={format_list(launch.cpus(task))}", f"threads={launch.threads_of_pe(pe)}", *words]
    return " ".join(words)
