"""``hopbytes eval``: the metrics of a mapping beside those of the launcher's own order."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import (
    ORDER_HELP,
    All,
    Force,
    Json,
    MappingFormat,
    PatternFile,
    ReadingOptions,
    SpreadOptions,
)
from hopbytes.cli.declare import UsageError, argument, option
from hopbytes.cli.launching_options import given_mapping
from hopbytes.cli.machine_options import MachineOptions


def eval(
    pattern: PatternFile,
    machine: MachineOptions,
    reading: ReadingOptions,
    spread: SpreadOptions,
    mapping: Annotated[
        str | None,
        argument(
            metavar="[MAPPING]", help="Stored mapping (.json); with --on, a file of any mapping format.",
            values="files",
        ),
    ] = None,
    placement: Annotated[
        str | None,
        option(
            "--placement", metavar="ORDER", values="orders",
            help=f"Evaluate a launcher's own order instead of a MAPPING: {ORDER_HELP}.",
        ),
    ] = None,
    compare_with: Annotated[
        str | None,
        option(
            "--compare-with", metavar="ORDER", values="orders", default="fill", rare=True,
            help=f"Launcher's order to compare with: {ORDER_HELP}.",
        ),
    ] = None,
    mapping_format: MappingFormat = None,
    json: Json = False,
    all: All = False,
    output: Annotated[
        str | None,
        option(
            "--output", "-o", metavar="FILE", values="files",
            help="Draw it as well: matrices before and after, volume by level and by link. FILE.svg, or "
            "FILE.png or FILE.pdf (these two need matplotlib).",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Evaluate a mapping of PATTERN beside the launcher's own order: a verdict and a table."""
    import hopbytes as hb
    from hopbytes.cli.output import check_drawing, draw_evaluation, print_evaluation, tell
    from hopbytes.launch.usual import usual_order
    from hopbytes.machines.selection.launcher_order import launcher_placement
    from hopbytes.show.verdict import RANDOM_SEEDS

    if mapping is None and placement is None:
        raise UsageError("the mapping is missing: give either MAPPING or --placement ORDER")
    check_drawing(output, force=force)
    # A stored mapping contains its machine.
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
    launcher = compare_with or placement or usual_order(mapping_format, placed.where)
    evaluation = hb.evaluate(graph, placed, random_seeds=RANDOM_SEEDS * (all or json), launcher=launcher)
    print_evaluation(graph, placed, evaluation, complete=all, json=json)
    draw_evaluation(graph, placed, output, launcher=launcher, force=force)
