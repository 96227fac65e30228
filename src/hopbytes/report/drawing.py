"""Pictures of whatever a user names, a pattern, a machine or a mapping: ``hopbytes show … -o``."""

from __future__ import annotations

import os
from typing import Any

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.patterns.base import is_pattern_spec
from hopbytes.report.thing import is_machine


def draw_thing(
    thing: str, output: str, *, force: bool = False, on: str | None = None, input_format: str | None = None,
    machine_options: dict[str, Any] | None = None, **options: Any,
) -> None:
    """Write a picture of a machine, of a pattern, or of a mapping with its ranks on its machine."""
    from hopbytes.pictures.canvas.picture_file import check_picture, write_panel
    from hopbytes.pictures.thing_picture import allocation_picture, mapping_picture, pattern_picture

    check_picture(output, force=force)
    found = _content(thing, on, machine_options or {}, input_format, options)
    if isinstance(found, CommGraph):
        panel, title = pattern_picture(found)
    elif isinstance(found, Mapping):
        panel, title = mapping_picture(found)
    else:
        panel, title = allocation_picture(found)
    write_panel(panel, output, title, force=force)


def _content(
    thing: str, on: str | None, machine_options: dict[str, Any], input_format: str | None,
    options: dict[str, Any],
) -> Allocation | CommGraph | Mapping:
    """Return the machine, the pattern or the mapping that a text names."""
    from hopbytes.formats.exchange import read
    from hopbytes.machines.allocate.allocate import allocate

    if on is not None:
        where = allocate(on, **machine_options)
        if not os.path.exists(thing) and thing != "-":
            raise FormatError(thing, None, "no such file, expected a mapping on the machine of `on`")
        found = read(thing, input_format, holds="mapping", where=where, **options)
        if isinstance(found, Mapping):
            return found
        raise UnsupportedError(f"{thing}: PEs of an unknown machine, expected a mapping")
    file = input_format is not None or os.path.isfile(thing) or thing == "-"
    content = file or is_pattern_spec(thing)
    if machine_options or (is_machine(thing) and input_format is None) or not content:
        return allocate(thing, **machine_options)
    held = read(thing, input_format, **options)
    if isinstance(held, (CommGraph, Mapping)):
        return held
    raise UnsupportedError(f"{thing} is a mapping without its machine, expected --on to say which")
