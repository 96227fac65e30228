"""``hopbytes report``: a page about mappings of a pattern, for people."""

from __future__ import annotations

import sys
from typing import Annotated

from hopbytes.cli.common_options import (
    ComparedOrder,
    Force,
    MappingFormat,
    PatternFile,
    Quiet,
    ReadingOptions,
    SpreadOptions,
)
from hopbytes.cli.declare import argument, option
from hopbytes.cli.launching_options import BlockOptions, given_mappings
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.method_options import MethodOptions


def report(
    pattern: PatternFile,
    machine: MachineOptions,
    reading: ReadingOptions,
    method: MethodOptions,
    spread: SpreadOptions,
    blocks: BlockOptions,
    mappings: Annotated[
        list[str] | None,
        argument(
            metavar="[MAPPING…]", values="files",
            help="Stored mappings (.json); with --on, files of any mapping format. Without a mapping, "
            "PATTERN is mapped first, as 'hopbytes map' does.",
        ),
    ] = None,
    output: Annotated[
        str,
        option(
            "--output", "-o", metavar="FILE", panel="Output", values="files",
            help="File to write, one page of HTML; - is standard output.",
        ),
    ] = "report.html",
    mapping_format: MappingFormat = None,
    compare_with: ComparedOrder = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about mappings of PATTERN: verdict, charts, tables, and how to launch.

    The page is one file, which needs no network, no scripts and no other packages.
    """
    from hopbytes.cli.output import tell
    from hopbytes.cli.watching import watched
    from hopbytes.launch.usual import usual_order
    from hopbytes.show.page import check_report_target, made_here, origin_of_files, write_report

    check_report_target(output, force=force)
    typed = sys.argv[1:]
    where = None if mappings and machine.unsaid else machine.allocation()
    with watched(pattern, reading, method, quiet=quiet) as watch:
        if mappings:
            found = given_mappings(mappings, mapping_format, where, watch.graph)
            origin = origin_of_files(pattern, mappings, typed)
        else:
            assert where is not None
            options = method.keywords() | spread.keywords() | {"per": machine.tasks_per_unit()}
            placed = watch.map(blocks, where, options)
            found, origin = made_here(pattern, placed, typed)
    first = next(iter(found.values()))
    launcher = compare_with or usual_order(mapping_format or blocks.for_format, first.where)
    write_report(watch.graph, found, output, launcher=launcher, origin=origin, force=force)
    if not quiet:
        said = [] if mappings else [f"no MAPPING given: the page is about {next(iter(found))}"]
        tell(*first.where.notices, *said, *([] if output == "-" else [f"{output} written"]))
