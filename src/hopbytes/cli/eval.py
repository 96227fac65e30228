"""``hopbytes eval``: what a placement is worth."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.launching_options import given_mapping
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.options import Json, PatternFile, ReadingOptions, SpreadOptions


def eval(
    pattern: PatternFile,
    machine: MachineOptions,
    reading: ReadingOptions,
    spread: SpreadOptions,
    mapping: Annotated[
        str | None,
        typer.Argument(metavar="[MAPPING]", help="A stored mapping; with --on any placement."),
    ] = None,
    placement: Annotated[
        str | None,
        typer.Option(
            "--placement",
            metavar="ORDER",
            help="Instead of MAPPING, what a launcher does: default:block, cyclic, bynode or plane=N.",
        ),
    ] = None,
    mapping_format: Annotated[
        str | None,
        typer.Option(
            "--mapping-format", metavar="FORMAT", help="Of MAPPING, when its name and content do not tell."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Print all metrics of a placement of PATTERN, beside in-order and random placement."""
    import hopbytes as hb
    from hopbytes.cli.output import print_json, print_table, tell
    from hopbytes.launcher import launcher_placement

    if (mapping is None) == (placement is None):
        raise typer.BadParameter("say what to judge: either MAPPING or --placement ORDER")
    # A stored mapping brings its machine along.
    where = None if mapping is not None and machine.unsaid else machine.allocation()
    tell(*(where.notices if where is not None else ()))
    graph = reading.read(pattern)
    if placement is not None:
        assert where is not None
        per = machine.tasks_per_unit()
        placed = launcher_placement(where, graph.n, placement, per=per, **spread.keywords())
    else:
        assert mapping is not None
        placed = given_mapping(mapping, mapping_format, where, graph.n, graph)
    evaluation = hb.evaluate(graph, placed)
    if json:
        print_json(evaluation.to_dict())
    else:
        print_table(evaluation)
