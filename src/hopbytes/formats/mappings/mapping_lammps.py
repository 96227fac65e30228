"""lammps: the file of LAMMPS's command-line option ``-reorder custom``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping as Dictionary
from typing import Any

from hopbytes.formats.base import MARK, Capabilities, Format, Written, formats
from hopbytes.formats.mappings.launch_files import by_script, prepare
from hopbytes.formats.mappings.mapping_newrank import commands_of, new_ranks_of
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.model.mapping import Mapping


class Lammps(Format):
    """Lines with an old rank and its new rank, for ``lmp -reorder custom FILE``.

    LAMMPS splits its communicator by the new ranks before it lays its grid of processors, so that the file
    works with every launcher that starts old ranks as `launched` says.

    Source: LAMMPS, ``Universe::reorder`` and the documentation of its command-line options.
    """

    holds = "mapping"
    summary = "old rank and new rank in a line, for -reorder custom of LAMMPS"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, unequal_nodes=True, gpus=True,
        launcher="lmp -reorder custom",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the file.

        Options: `launched` and `oversubscribe`, see
        :class:`hopbytes.formats.mappings.mapping_newrank.NewRank`.
        """
        launch = prepare(mapping, {**options, "hosts": None})
        new, launched = new_ranks_of(launch, options.get("launched") or "block")
        head = f"# {MARK}: old rank and new rank of {launch.n} processes; launched: {launched}"
        lines = [head, *(f"{old} {rank}" for old, rank in enumerate(new.tolist()))]
        files = {"": "\n".join(lines) + "\n"}
        commands = tuple(
            dataclasses.replace(line, command=f"{line.command} -reorder custom {{stem}} -in in.script")
            for line in commands_of(launch, launched)
        )
        first = commands[0].command if commands else ""
        if not launch.has_gpus:
            return Written(files, first, lines=commands)
        files[".place.sh"] = place_script(launch, order=new.tolist())
        return Written(files, first, (by_script(launch, ""),), (".place.sh",), lines=commands)

    def sniff(self, name: str, head: bytes) -> bool:
        """Return False always, because the lines look like edges."""
        return False


formats.register("lammps")(Lammps())
