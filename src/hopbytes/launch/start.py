"""Writes launch files for a user's command and inserts them into the command."""

from __future__ import annotations

import dataclasses
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.exchange import Receipt, read_mapping, write
from hopbytes.formats.mappings.several_programs import checked_programs
from hopbytes.launch.command import SEVERAL, LaunchCommand, Option, Start
from hopbytes.launch.inserted_options import placed
from hopbytes.launch.launchers import recognise, without_limits
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.leftovers import name_of_process, remove_left

#: Options of launchers that name a file of hosts.
HOST_FILES = ("hostfile", "machinefile", "f")
#: Number of attempts to remove a folder, and the seconds between two of them.
REMOVALS, BETWEEN_REMOVALS = 20, 0.1


@frozen
class Prepared:
    """A command that is ready to be executed."""

    start: Start
    receipt: Receipt  # the files it uses
    placed: Mapping  # the mapping that the command produces
    notices: tuple[str, ...] = ()  # what of the user's command was left out, and why


def checked_command(
    words: list[str], n: int | None, *, replace: bool = False, several: bool = False,
    suggestion: str = "`replace=True` removes them",
) -> LaunchCommand:
    """Parse a user's command and check that a mapping of n ranks can be inserted into it."""
    command = parsed(words) if several else LaunchCommand.parse(words)
    clashing = command.placing()
    if clashing and not replace:
        typed = ", ".join(option.words[0] for option in clashing)
        raise UnsupportedError(
            f"{words[0]}: {typed} also {'says' if len(clashing) == 1 else 'say'} where ranks go, expected a "
            f"command without ({suggestion})"
        )
    if n is not None:
        command.check_count(n)
    return command.without_placing()


def parsed(words: list[str]) -> LaunchCommand:
    """Parse a command, with several programs behind colons where that was tried with the launcher."""
    return LaunchCommand.parse(words, several=recognise(words)[0].form in SEVERAL)


def with_programs_of(command: LaunchCommand, graph: CommGraph, *, programs: bool = False) -> LaunchCommand:
    """Return a command that starts the programs of a pattern, if it has several."""
    found = checked_programs(graph.meta.get("programs"), graph.n)
    if not found:
        return command
    form, tasks = command.launcher.form, [program.tasks for program in found]
    if form not in SEVERAL:
        written = f"`hopbytes map FILE.programs --format {form}` writes the command"
        raise UnsupportedError(
            f"{command.tool}: the pattern has {len(found)} programs, expected Open MPI or Hydra"
            + (f" ({written})" if form == "slurm" else "")
        )
    if command.program:
        starts = [dataclasses.replace(part, others=()).count for part in command.parts]
        if starts != tasks:
            raise InfeasibleError(
                f"{command.tool} starts programs of {', '.join(map(str, starts))} ranks, expected "
                f"{', '.join(map(str, tasks))} as in the pattern, or a command without programs"
            )
        return command
    if not programs:
        named = "; ".join(f"{one.tasks} ranks of {one.command[:200]!a}" for one in found if one.tasks)
        raise UnsupportedError(
            f"{command.tool}: no program, and the pattern's file names {named}: expected the programs in the "
            "command, or `programs=True` to start those of the file"
        )
    kept = tuple(option for option in command.options if option.name not in command.launcher.counts)
    first, *others = (
        LaunchCommand(command.launcher, command.start, (Option("n", ("-n", str(one.tasks))),), one.words)
        for one in found
        if one.tasks
    )
    return dataclasses.replace(first, options=(*kept, *first.options), others=tuple(others))


def machine_of_command(command: LaunchCommand) -> str:
    """Return the machine spec of a command: that of the host file it names, else that of the job."""
    for option in (option for part in command.parts for option in part.options):
        if option.name in HOST_FILES and os.path.isfile(option.value):
            return f"job:{option.value}"
    return "job"


@contextmanager
def launch_files(stem: str | None) -> Iterator[str]:
    """Yield a stem for launch files: the one given, or one in a folder that is removed afterwards."""
    if stem is not None:
        yield stem
        return
    with shared_folder() as folder:
        if not folder.isprintable() or ":" in folder:
            folder = os.path.relpath(folder)  # some characters are special (Format.forbidden_characters)
        yield os.path.join(folder, "placement")


@contextmanager
def shared_folder() -> Iterator[str]:
    """Yield a new folder in the current one, which all nodes of a job usually share; remove it later.

    The name is chosen before the folder is created, so that a signal in between leaves no folder behind.
    Processes that are about to end may still write there, so the removal is attempted several times.
    """
    folder = ""
    try:
        try:
            remove_left(os.getcwd(), ".hopbytes-")
            folder = os.path.join(os.getcwd(), name_of_process(".hopbytes-"))
            os.mkdir(folder, 0o700)
        except OSError as error:
            raise UnsupportedError(
                f"the current folder cannot take the files of a launch: {error.strerror}, expected a folder "
                "that is writable and that all nodes share"
            ) from None
        yield folder
    finally:
        for _ in range(REMOVALS):
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
            if not os.path.lexists(folder):
                break
            time.sleep(BETWEEN_REMOVALS)


def prepare_start(
    mapping: Mapping,
    command: LaunchCommand,
    stem: str,
    *,
    force: bool = False,
    nameless: bool = False,
    **options: Any,
) -> Prepared:
    """Write launch files for a command and insert them into it.

    If the format can be read, the files are read back and compared with the mapping before anything is
    started.
    """
    command, notices = _without_nodes(command, len(set(mapping.where.node_of_pe[mapping.pe].tolist())))
    form = command.launcher.form
    if form == "openmpi":
        options["version"] = "4" if command.launcher.version == "4" else "5"
    if not nameless:
        _check_names(mapping, command, options.get("hosts"))
    one = {name: value for name, value in mapping.info.items() if name != "programs"}  # they are in `command`
    receipt = write(Mapping(mapping.pe, mapping.where, one), stem, form, force=force, **options)
    written = receipt.placed or mapping
    exact = form == "openmpi" and f"{stem}.hosts" in receipt.paths
    _check_written(stem, form, written, options.get("hosts"), exact)
    start = placed(command, receipt.launch)
    if form == "slurm":
        start = dataclasses.replace(start, words=(*without_limits(os.environ), *start.words))
    return Prepared(start, receipt, written, notices)


def _without_nodes(command: LaunchCommand, used: int) -> tuple[LaunchCommand, tuple[str, ...]]:
    """Return a command of Slurm without its number of nodes, after a check that it is that of the mapping."""
    form = command.launcher.form
    given = [o for o in command.options if form in ("slurm", "flux") and o.name in ("N", "nodes")]
    for option in given:
        if option.value.isdecimal() and int(option.value) != used:
            typed = " ".join(option.words)
            raise InfeasibleError(f"{command.tool}: {typed}, expected {used} nodes as in the mapping")
    if form != "slurm" or not given:
        return command, ()
    typed = ", ".join(" ".join(option.words) for option in given)
    kept = tuple(option for option in command.options if option not in given)
    notice = (
        f"{typed} is left out of the command: the launch file names the {used} nodes, and srun has refused "
        "a number beside it since 23.11"
    )
    return dataclasses.replace(command, options=kept), (notice,)


def _check_names(mapping: Mapping, command: LaunchCommand, hosts: Any) -> None:
    """Refuse to start ranks on hosts whose names were invented."""
    nodes = int(mapping.where.machine.node_of_core()[-1]) + 1
    if nodes == 1 or hosts or mapping.where.hosts:
        return
    listed = any(option.name in command.launcher.hosts for option in command.options)
    if command.launcher.form == "openmpi" and listed and mapping.where.has_cores:
        if command.launcher.version != "4":
            return  # the rankfile refers to hosts by their position in the user's list
        what = "Open MPI 4 counts hosts of a batch system only, not of a hostfile"
        raise InfeasibleError(f"{nodes} nodes without names: {what}; expected `hosts` with their names")
    raise InfeasibleError(
        f"{nodes} nodes without names, expected `machine='job'`, or `hosts` with the names of all of them"
    )


def _check_written(stem: str, form: str, mapping: Mapping, hosts: Any, exact: bool) -> None:
    """Compare a file with the mapping: the slots where it names cores, else the nodes."""
    if not mapping.where.hosts or hosts is not None or (form == "openmpi" and mapping.where.machine is None):
        return  # without names a file cannot be read back
    again = read_mapping(stem, mapping.where, form, n=mapping.n)
    if exact:
        same = np.array_equal(again.pe, mapping.pe)
    else:  # the file holds hosts only; the cores are given in the command or in a script
        same = np.array_equal(again.where.node_of_pe[again.pe], mapping.where.node_of_pe[mapping.pe])
    if not same:
        raise HopbytesError(
            f"{stem}: the launch file differs from the mapping (internal error), expected the same slots; "
            "nothing was started"
        )


