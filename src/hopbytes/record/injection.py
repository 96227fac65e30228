"""The environment variables that enable counting, and how launchers pass them to the nodes."""

from __future__ import annotations

import dataclasses
import os
import re
import shutil
import subprocess

from hopbytes.errors import UnsupportedError
from hopbytes.launch.command import LaunchCommand, Option

COMPONENT = "monitoring"
#: Frameworks of Open MPI with a monitoring component. Ranks crash if coll excludes it while pml includes it.
FRAMEWORKS = ("pml", "coll", "osc")
#: Options by which launchers set variables of ranks, and a setting of LD_PRELOAD in them.
SETTERS = ("x", "genv", "env", "export", "mca", "gmca")
PRELOAD = re.compile(r"(?<![A-Za-z0-9_])LD_PRELOAD=([^,;]*)")
#: Open MPI's parameter with variables for every process: NAME=value, separated by semicolons.
ENV_LIST = "OMPI_MCA_mca_base_env_list"
#: Slurm's variable with the names of the variables that srun exports: ALL, NONE or names.
EXPORT = "SLURM_EXPORT_ENV"


def monitoring(folder: str, command: LaunchCommand) -> dict[str, str]:
    """Return the environment that enables Open MPI's monitoring.

    Value 2 counts the messages of collectives separately, and output 3 writes to a file. If the user's
    environment or configuration files list the components to choose from, monitoring is added to the list.
    """
    typed = _typed(command)
    named = _set(command).items()
    chosen = {name: value for name, value in named if name not in typed and _leaves_out(value)}
    return {
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": os.path.join(folder, "rank"),
        **{f"OMPI_MCA_{name}": f"{value},{COMPONENT}" for name, value in chosen.items()},
    }


def keeps_monitoring_out(command: LaunchCommand) -> str:
    """Return the option that excludes Open MPI's monitoring, which no environment overrides; else ""."""
    words = (f"--mca {name} {value}" for name, value in _typed(command).items() if _leaves_out(value))
    return next(words, "")


def _typed(command: LaunchCommand) -> dict[str, str]:
    """Return the components named on the command line, by framework."""
    options = (option for part in command.parts for option in part.options)
    words = (option.words for option in options if option.name in ("mca", "gmca"))
    return {option[1]: option[2] for option in words if len(option) > 2 and option[1] in FRAMEWORKS}


def _leaves_out(chosen: str) -> bool:
    """Return whether a list of components excludes monitoring; a list of exclusions begins with ``^``."""
    return bool(chosen) and not chosen.startswith("^") and COMPONENT not in chosen.split(",")


def _set(command: LaunchCommand) -> dict[str, str]:
    """Return the components that environment or configuration files name, as ``ompi_info`` reports them."""
    folder = os.path.dirname(shutil.which(command.tool) or "")
    words = [os.path.join(folder, "ompi_info"), "--parsable", "--all", "--level", "9"]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL
        )
        output = done.stdout
    except (OSError, subprocess.TimeoutExpired):
        output = ""
    lines = r"^mca:(pml|coll|osc):base:param:\1:value:(.*)$"
    named = {name: os.environ.get(f"OMPI_MCA_{name}", "") for name in FRAMEWORKS}
    return named | {name: value.strip() for name, value in re.findall(lines, output, re.MULTILINE)}


def preloading(library: str, folder: str, skip_first: float, trace_steps: int = 0) -> dict[str, str]:
    """Return the environment that preloads the interposer; it keeps the order of `trace_steps` steps."""
    before = os.environ.get("LD_PRELOAD", "")
    return {
        "LD_PRELOAD": f"{library}:{before}" if before else library,
        "HOPBYTES_RECORD_FOLDER": folder,
        **({"HOPBYTES_RECORD_SKIP": str(skip_first)} if skip_first > 0 else {}),
        **({"HOPBYTES_RECORD_ORDER": str(trace_steps)} if trace_steps else {}),
    }


def with_preloaded(command: LaunchCommand, library: str) -> LaunchCommand:
    """Return a command whose own settings of LD_PRELOAD name the interposer, too, before their libraries.

    They are in options (``-x``, ``-genv``, ``--env``, ``--export``, ``--mca``), in assignments of ``env``
    before the launcher or the program, and in those of mpirun_rsh.
    """
    def joined(word: str) -> str:
        return PRELOAD.sub(lambda found: f"LD_PRELOAD={library}{':' * bool(found[1])}{found[1]}", word)

    def of_option(option: Option) -> Option:
        if option.name not in (*SETTERS, "LD_PRELOAD"):
            return option
        words = [joined(word) for word in option.words]
        if "LD_PRELOAD" in words:  # -genv NAME VALUE; -x NAME takes the value of the environment
            place = words.index("LD_PRELOAD")
            given = words[place + 1 :] or [os.environ.get("LD_PRELOAD", "")]
            value = f"{library}:{given[0]}" if given[0] else library
            words[place:] = ["LD_PRELOAD", value] if words[place + 1 :] else [f"LD_PRELOAD={value}"]
        return Option(option.name, tuple(words))

    def of_program(words: tuple[str, ...]) -> tuple[str, ...]:
        if not words or os.path.basename(words[0]) != "env":
            return words
        end = next((i for i, word in enumerate(words) if i and "=" not in word), len(words))
        return (*map(joined, words[:end]), *words[end:])

    return dataclasses.replace(
        command,
        start=of_program(command.start),
        options=tuple(map(of_option, command.options)),
        program=of_program(command.program),
        others=tuple(with_preloaded(part, library) for part in command.others),
    )


def handed_on(command: LaunchCommand, settings: dict[str, str]) -> dict[str, str]:
    """Return the environment of the launcher that passes `settings` to every rank.

    Hydra, PALS and Flux export all variables, and so does Slurm unless a job was submitted with ``--export``.
    Open MPI's mpirun exports only its own parameters to other nodes; one of them names further variables.
    Version 4 does not accept this parameter together with ``-x``: the variables are then set on this node
    only, unless the user's ``-x`` names them.
    """
    if settings and command.launcher.form in ("slurm", "mvapich"):
        for part in command.parts:
            _check_export(part)
    if settings and command.launcher.form == "slurm":
        exported = os.environ.get(EXPORT, "ALL").split(",")
        named = [name for name in exported if name != "NONE"]
        return settings if "ALL" in exported else {**settings, EXPORT: ",".join([*named, *settings])}
    if not settings or command.launcher.form != "openmpi":
        return settings
    exports = any(option.name == "x" for part in command.parts for option in part.options)
    if exports and command.launcher.version.startswith("4"):
        return settings
    before = os.environ.get(ENV_LIST, "")
    listed = [before] if before else []
    return {ENV_LIST: ";".join([*listed, *(f"{name}={value}" for name, value in settings.items())])}


def _check_export(command: LaunchCommand) -> None:
    """Refuse options by which ranks do not get the variables, since no environment overrides them."""
    typed = {option.name: option for option in command.options}
    if command.launcher.form == "mvapich" and not typed.keys() & {"export", "export-all"}:
        raise UnsupportedError(f"{command.tool}: exports no variables, expected the option -export-all")
    export = typed.get("export")
    if command.launcher.form == "slurm" and export is not None and "ALL" not in export.value.split(","):
        what = "the ranks do not get the variables of the recording, expected ALL in --export"
        raise UnsupportedError(f"{' '.join(export.words)}: {what}")
