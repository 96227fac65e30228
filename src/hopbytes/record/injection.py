"""The environment that makes a program be counted, and how launchers bring it to the nodes."""

from __future__ import annotations

import os

from hopbytes.launching.command import LaunchCommand

#: Open MPI's setting with variables for every process: NAME=value, separated by semicolons.
ENV_LIST = "OMPI_MCA_mca_base_env_list"


def monitoring(folder: str) -> dict[str, str]:
    """Return the environment that makes Open MPI count; 2: collectives apart, 3: to a file."""
    return {
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": os.path.join(folder, "rank"),
    }


def preloading(library: str, folder: str, skip_first: float) -> dict[str, str]:
    """Return the environment that puts the interposer before MPI."""
    before = os.environ.get("LD_PRELOAD", "")
    return {
        "LD_PRELOAD": f"{library}:{before}" if before else library,
        "HOPBYTES_RECORD_FOLDER": folder,
        **({"HOPBYTES_RECORD_SKIP": str(skip_first)} if skip_first > 0 else {}),
    }


def handed_on(command: LaunchCommand, settings: dict[str, str]) -> dict[str, str]:
    """Return what has to be in the launcher's environment so that `settings` are in that of every rank.

    Slurm, Hydra, PALS and Flux hand on everything. Open MPI's mpirun hands on its own settings alone to other
    nodes; one of them names further variables. Version 4 refuses it beside ``-x``: then the variables are
    there on this node only, unless the user's ``-x`` names them.
    """
    if not settings or command.launcher.form != "openmpi":
        return settings
    exports = any(option.name == "x" for option in command.options)
    if exports and command.launcher.version.startswith("4"):
        return settings
    before = os.environ.get(ENV_LIST, "")
    listed = [before] if before else []
    return {ENV_LIST: ";".join([*listed, *(f"{name}={value}" for name, value in settings.items())])}
