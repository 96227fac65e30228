"""Launch files for a user's own command, and the command with them in it."""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopbytes.errors import HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.exchange import Receipt, read, write
from hopbytes.launching.command import LaunchCommand, Start, placed
from hopbytes.model.mapping import Mapping

#: Options of launchers that name a file of hosts.
HOST_FILES = ("hostfile", "machinefile", "f")
#: How often removing a folder is tried, and the seconds between.
REMOVALS, BETWEEN_REMOVALS = 20, 0.1


@dataclass(frozen=True, slots=True)
class Prepared:
    """A command ready to be executed.

    Parameters
    ----------
    start : Start
    receipt : Receipt
        The files it uses.
    placed : Mapping
        Where it puts the ranks.
    """

    start: Start
    receipt: Receipt
    placed: Mapping


def checked_command(
    words: list[str], n: int | None, *, replace: bool = False, way_out: str = "--replace takes them away"
) -> LaunchCommand:
    """Take a user's command apart and find out whether a placement of n ranks can be put into it.

    Parameters
    ----------
    words : list of str
        What follows ``--`` on the command line.
    n : int or None
        Ranks of the placement; None when that is not known yet.
    replace : bool
        Options that place ranks are taken away instead of refused.
    way_out : str
        What a refusal suggests.

    Raises
    ------
    UnsupportedError
        No launcher that is known, or options that say where ranks go.
    InfeasibleError
        Another number of ranks than the placement has.
    """
    command = LaunchCommand.parse(words)
    clashing = command.placing()
    if clashing and not replace:
        said = ", ".join(option.words[0] for option in clashing)
        raise UnsupportedError(
            f"{words[0]}: {said} also {'says' if len(clashing) == 1 else 'say'} where ranks go, expected a "
            f"command without ({way_out})"
        )
    if n is not None:
        command.check_count(n)
    return command.without_placing()


def machine_said(command: LaunchCommand) -> str:
    """Return the spec of the machine a command is for: of its own list of hosts, else of the job."""
    for option in command.options:
        if option.name in HOST_FILES and os.path.isfile(option.value):
            return f"job:{option.value}"
    return "job"


@contextmanager
def launch_files(stem: str | None) -> Iterator[str]:
    """Give a stem for launch files: the one given, or one in a folder that is removed afterwards."""
    if stem is not None:
        yield stem
        return
    with shared_folder() as folder:
        if not folder.isprintable() or ":" in folder:
            folder = os.path.relpath(folder)  # some characters are special (Format.forbidden_characters)
        yield os.path.join(folder, "placement")


@contextmanager
def shared_folder() -> Iterator[str]:
    """Give a new folder in the current one, which all nodes of a job usually share; removed afterwards.

    Its name is chosen before it is made, so that a signal in between leaves nothing. Processes that are about
    to end may still write there, so removing it is tried more than once.

    Raises
    ------
    UnsupportedError
        The current folder is gone or may not be written.
    """
    folder = ""
    try:
        try:
            folder = os.path.join(os.getcwd(), f".hopbytes-{secrets.token_hex(8)}")
            os.mkdir(folder, 0o700)
        except OSError as error:
            raise UnsupportedError(
                f"the current folder cannot take the files of a launch: {error.strerror}, expected one that "
                "all nodes share and that may be written"
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
    """Write launch files for a command and put them into it.

    What was written is read back and compared before anything is started, where the format can be read.

    Parameters
    ----------
    mapping : Mapping
    command : LaunchCommand
        From :func:`checked_command`.
    stem : str
        Of the files.
    force : bool
        Overwrite files that hopbytes did not write.
    nameless : bool
        Nothing is started, so nodes may have invented names.
    **options
        For the writer.

    Raises
    ------
    InfeasibleError
        Several nodes whose names nobody said.
    HopbytesError
        What was written says something else than the mapping.
    """
    form = command.launcher.form
    if form == "openmpi":
        options["version"] = "4" if command.launcher.version == "4" else "5"
    if not nameless:
        _check_names(mapping, command, options.get("hosts"))
    receipt = write(mapping, stem, form, force=force, **options)
    placement = receipt.placed or mapping
    _check_written(stem, form, placement, options.get("hosts"))
    return Prepared(placed(command, receipt.launch), receipt, placement)


def _check_names(mapping: Mapping, command: LaunchCommand, hosts: Any) -> None:
    """Refuse to look for hosts under invented names."""
    nodes = int(mapping.where.machine.node_of_core()[-1]) + 1
    if nodes == 1 or hosts or mapping.where.hosts:
        return
    listed = any(option.name in command.launcher.hosts for option in command.options)
    if command.launcher.form == "openmpi" and listed and mapping.where.has_cores:
        if command.launcher.version != "4":
            return  # the rankfile counts the hosts of the user's own list
        what = "Open MPI 4 counts hosts of a batch system only, not of a hostfile"
        raise InfeasibleError(f"{nodes} nodes without names: {what}; expected --hosts with their names")
    raise InfeasibleError(
        f"{nodes} nodes without names, expected --on job, or --hosts with the names of all of them"
    )


def _check_written(stem: str, form: str, mapping: Mapping, hosts: Any) -> None:
    if not mapping.where.hosts or hosts is not None or (form == "openmpi" and mapping.where.machine is None):
        return  # without names a file cannot be read back
    again = read(stem, form, holds="mapping", where=mapping.where, n=mapping.n)
    if form == "openmpi" and mapping.where.has_cores:
        same = np.array_equal(again.pe, mapping.pe)
    else:  # the file holds hosts; cores stand in the command
        same = np.array_equal(again.where.node_of_pe[again.pe], mapping.where.node_of_pe[mapping.pe])
    if not same:
        raise HopbytesError(f"{stem}: does not say what the placement says; nothing was started")


