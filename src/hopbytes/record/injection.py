"""The environment that makes a program be counted, and how launchers bring it to the nodes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from hopbytes.launching.command import LaunchCommand

COMPONENT = "monitoring"
PML = "OMPI_MCA_pml"
#: Open MPI's setting with variables for every process: NAME=value, separated by semicolons.
ENV_LIST = "OMPI_MCA_mca_base_env_list"


def monitoring(folder: str, command: LaunchCommand) -> dict[str, str]:
    """Return the environment that makes Open MPI count; 2: collectives apart, 3: to a file.

    Where the user's environment or files name the messaging components to choose from (``pml``), the one that
    counts is added to them.
    """
    chosen = "" if pml_typed(command) else _pml_set(command)
    added = {PML: f"{chosen},{COMPONENT}"} if _leaves_out(chosen) else {}
    return {
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": os.path.join(folder, "rank"),
        **added,
    }


def keeps_monitoring_out(command: LaunchCommand) -> str:
    """Return the user's words that leave Open MPI's monitoring out, which no environment overrules; or ""."""
    typed = pml_typed(command)
    return f"--mca pml {typed}" if _leaves_out(typed) else ""


def pml_typed(command: LaunchCommand) -> str:
    """Return the messaging components named on the command line; "" where none are."""
    typed = [
        option.words[2] for option in command.options
        if option.name in ("mca", "gmca") and option.words[1:2] == ("pml",) and len(option.words) > 2
    ]  # fmt: skip
    return typed[-1] if typed else ""


def _leaves_out(chosen: str) -> bool:
    """Tell whether a list of components leaves the counting one out; ``^`` begins one of those not to use."""
    return bool(chosen) and not chosen.startswith("^") and COMPONENT not in chosen.split(",")


def _pml_set(command: LaunchCommand) -> str:
    """Return the components named by environment or files of settings, as Open MPI itself reads them."""
    folder = os.path.dirname(shutil.which(command.start[0]) or "")
    words = [os.path.join(folder, "ompi_info"), "--parsable", "--param", "pml", "all", "--level", "9"]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )  # fmt: skip
        said = done.stdout
    except (OSError, subprocess.TimeoutExpired):
        said = ""
    found = re.search(r"^mca:pml:base:param:pml:value:(.*)$", said, re.MULTILINE)
    return found[1].strip() if found else os.environ.get(PML, "")


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
