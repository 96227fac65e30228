"""Compiler wrappers of the user's MPI."""

from __future__ import annotations

import os
import shutil

from hopbytes.launch.command import LaunchCommand

#: Suffixes under which distributions install the compilers of several MPIs, by the form of the launcher.
_SUFFIXES = {"openmpi": "openmpi", "hydra": "mpich"}
#: Names of compiler wrappers other than mpicc, by the form of the launcher.
_WRAPPERS = {"intel": ("mpiicx", "mpiicc", "mpigcc"), "slurm": ("cc",), "pals": ("cc",)}


def compilers_of(command: LaunchCommand, library: str = "", family: str = "") -> list[str]:
    """Return compiler wrappers that may belong to a launcher or to an MPI, the most likely first."""
    found = shutil.which(command.tool) or command.tool
    folder, name = os.path.split(found)
    suffix = os.path.splitext(name)[1]
    beside = [folder, os.path.dirname(os.path.realpath(found))]
    if library:  # lib/libmpi.so belongs to bin/mpicc; the library may be one folder deeper
        place = os.path.dirname(os.path.dirname(library))
        beside += [os.path.join(place, "bin"), os.path.join(os.path.dirname(place), "bin")]
    of_maker = (*_WRAPPERS.get(command.launcher.form, ()), "mpicc")
    paths = [os.path.join(place, wrapper) for place in beside for wrapper in (f"mpicc{suffix}", *of_maker)]
    family = family or _SUFFIXES.get(command.launcher.form, "")
    paths += [f"mpicc{suffix}", f"mpicc.{family}", *of_maker]
    return list(dict.fromkeys(path for path in map(shutil.which, paths) if path))
