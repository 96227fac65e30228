"""Explains in one line why ranks wrote no file, with the ranks and their hosts."""

from __future__ import annotations

import os
import re

from hopbytes.errors import HopbytesError
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.launchers import silent_end
from hopbytes.launch.verify import seen_launch
from hopbytes.record.application import Application
from hopbytes.record.belonging import own_maker

#: Exit code of launchers and shells after a segmentation fault: 128 + SIGSEGV.
SEGMENTATION_FAULT = 139
#: Exit codes of launchers that start nothing: srun, Hydra and Open MPI 4; Open MPI 5 and 6.
REFUSED = (1, 77, 213, 243)
_FILES = re.compile(r"rank\.(\d+)\.(txt|prof)")
#: Maximum number of ranks or hosts in a message.
NAMED = 8


def hosts_of(command: LaunchCommand) -> list[str]:
    """Return the host of every rank, found by a probe with the same command; empty if the probe fails."""
    if command.others or command.launcher.form == "other":
        return []
    try:
        seen = seen_launch(command)
    except HopbytesError:
        return []
    return [seen[i].host for i in range(len(seen))] if set(seen) == set(range(len(seen))) else []


def reason(
    folder: str, command: LaunchCommand, application: Application, what: str, code: int, counting: bool
) -> str:
    """Return the probable cause of an incomplete recording."""
    what = what.replace(folder, "the recording")
    if "no rank wrote" not in what and "missing" not in what:
        return f"the recording is not complete: {what}"
    found = _written(folder, "txt" if counting else "prof")
    if code == SEGMENTATION_FAULT and application.family == "openmpi" and not counting:
        return (
            "the program ended by a segmentation fault: Open MPI's monitoring crashes in neighbourhood "
            "collectives on graphs and with two groups of unequal size, expected `compiler='mpicc'`"
        )
    if not found and application.has_mpi_inside:
        inside = f"MPI is linked into {application.path} statically, expected a shared library"
        return f"no rank wrote anything: {inside}"
    assumed = "" if application.linked else f" ({_assumption(command, application)})"
    if code in REFUSED and not os.listdir(folder):
        silent = silent_end(command.launcher, command.words(), code)
        said = f"if there is none: {silent}" if silent else "see its message above"
        before = "or the program ended before MPI_Init"
        return f"{command.tool} did not start the program (code {code}), {said}; {before}"
    if code:
        what = f"{what}{assumed}" if not found else what
        if not counting:
            what += "; the interposer (`compiler='mpicc'`) keeps what was sent before a signal"
        return f"the program ended with code {code}, and not every rank reached MPI_Finalize: {what}"
    place = os.path.dirname(folder)
    if found:
        return f"the recording is not complete: {_lost(found, hosts_of(command), place) or what}"
    return (
        f"no rank wrote anything{assumed}: the program uses another MPI, never reached MPI_Finalize, or "
        f"{place} is not shared with its nodes"
    )


def _assumption(command: LaunchCommand, application: Application) -> str:
    """Return the assumption that was made about a program that loads no MPI by itself."""
    kind = "loads no MPI by itself" if application.is_binary else "is a script"
    assumed = own_maker(command.launcher) or "the MPI of the first mpicc"
    return f"{command.program[0]} {kind}: {assumed} was assumed, `compiler` names another"


def _written(folder: str, suffix: str) -> set[int]:
    found = (_FILES.fullmatch(name) for name in os.listdir(folder))
    return {int(match[1]) for match in found if match and match[2] == suffix}


def _lost(found: set[int], hosts: list[str], place: str) -> str:
    """Return which ranks are missing and on which hosts; "" if the hosts are unknown."""
    lost = [i for i in range(len(hosts)) if i not in found]
    if not lost:
        return ""
    ranks = ", ".join(map(str, lost[:NAMED])) + (", …" if len(lost) > NAMED else "")
    on = sorted({hosts[i] for i in lost})
    named = ", ".join(on[:NAMED]) + (", …" if len(on) > NAMED else "")
    what = f"{len(lost)} of {len(hosts)} ranks missing ({ranks}, on {named})"
    seen = {hosts[i] for i in found if i < len(hosts)}
    if seen.isdisjoint(on):
        return f"{what}: {place} is not shared with {named}"
    return f"{what}: they never reached MPI_Finalize"
