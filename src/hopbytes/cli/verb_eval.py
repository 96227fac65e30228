"""``hopbytes eval``: what a placement is worth."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import All, Json, PatternFile, ReadingOptions, SpreadOptions
from hopbytes.cli.launching_options import given_mapping
from hopbytes.cli.machine_options import MachineOptions


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
            help="What a launcher does: fill (mpirun), block (srun), cyclic, bynode or plane=N. Judged "
            "instead of MAPPING; beside MAPPING it is what that is compared with.",
        ),
    ] = None,
    mapping_format: Annotated[
        str | None,
        typer.Option(
            "--mapping-format", metavar="FORMAT", help="Of MAPPING, when its name and content do not tell."
        ),
    ] = None,
    json: Json = False,
    all: All = False,
) -> None:
    """Print what a placement of PATTERN is worth beside the launcher's own: a verdict and a table."""
    import hopbytes as hb
    from hopbytes.cli.output import print_json, print_table, print_text, tell
    from hopbytes.launching.usual import usual_order
    from hopbytes.machines.selection.launcher_order import launcher_placement
    from hopbytes.report.summary import RANDOM_SEEDS
    from hopbytes.report.verdict import verdict

    if mapping is None and placement is None:
        raise typer.BadParameter("say what to judge: either MAPPING or --placement ORDER")
    # A stored mapping brings its machine along.
    where = None if mapping is not None and machine.unsaid else machine.allocation()
    tell(*(where.notices if where is not None else ()))
    graph = reading.read(pattern)
    if mapping is None:
        assert where is not None
        options = {"per": machine.tasks_per_unit(), **spread.keywords()}
        placed = launcher_placement(where, graph.n, str(placement), **options)
        placement = None
    else:
        placed = given_mapping(mapping, mapping_format, where, graph.n, graph)
    launcher = placement or usual_order(mapping_format, placed.where)
    evaluation = hb.evaluate(graph, placed, random_seeds=RANDOM_SEEDS * (all or json), launcher=launcher)
    if json:
        print_json({"verdict": verdict(evaluation, placed), **evaluation.to_dict()})
    else:
        print_text("\n".join([*verdict(evaluation, placed), ""]))
        print_table(evaluation, complete=all)
