"""``hopbytes eval``: what a placement is worth."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.options import Json, MachineOptions, PatternFile, ReadingOptions


def eval(
    pattern: PatternFile,
    machine: MachineOptions,
    reading: ReadingOptions,
    mapping: Annotated[
        str, typer.Argument(metavar="MAPPING", help="A placement: one PE a line, or a stored mapping (json).")
    ],
    json: Json = False,
) -> None:
    """Print all metrics of a placement of PATTERN, beside in-order and random placement."""
    import hopbytes as hb
    from hopbytes.cli.output import print_json, print_table

    where = machine.allocation()
    graph = reading.read(pattern)
    placed = hb.read(mapping, holds="placement", where=where, n=graph.n, graph=graph)
    evaluation = hb.evaluate(graph, placed)
    if json:
        print_json(evaluation.to_dict())
    else:
        print_table(evaluation)
