"""How to start a program on a mapping, as commands to copy."""

from __future__ import annotations

from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError
from hopbytes.formats.base import formats
from hopbytes.formats.mappings.launchers import LAUNCHERS
from hopbytes.model.mapping import Mapping

#: Formats of the launchers that most clusters have, with the names of their files.
FILES = {"openmpi": "rankfile", "slurm": "hostfile", "hydra": "hosts", "intel": "machinefile"}


@frozen
class Launch:
    """Commands for one launcher: the first writes the files, the others start the program."""

    launcher: str
    writes: str
    starts: tuple[str, ...]


def launches(mapping: Mapping, stored: str) -> list[Launch]:
    """Return the commands for the usual launchers, without those that cannot express the mapping."""
    if mapping.info.get("problem") == "partition" or int(mapping.tasks_per_pe().max(initial=0)) > 1:
        return []
    found = []
    for form, file in FILES.items():
        try:
            written = formats[form].write_mapping(mapping, {})
        except HopbytesError:  # the launcher cannot start ranks so
            continue
        lines = [f"{line.command}  # {line.mpi}" for line in written.lines] or [written.launch]
        commands = tuple(line.replace("{stem}", file) for line in lines if line)
        writes = f"hopbytes write {stored} --format {form} -o {file}"
        found.append(Launch(LAUNCHERS[form].name, writes, commands))
    return found
