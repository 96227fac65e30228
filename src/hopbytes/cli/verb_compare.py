"""``hopbytes compare``: two mappings of one pattern side by side."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from hopbytes.cli.common_options import Json, MappingFormat, PatternFile, ReadingOptions
from hopbytes.cli.declare import UsageError, argument, option
from hopbytes.cli.launching_options import given_mapping
from hopbytes.cli.machine_options import MachineOptions


def compare(
    pattern: PatternFile,
    machine: MachineOptions,
    reading: ReadingOptions,
    first: Annotated[
        str | None,
        argument(
            metavar="MAPPING", values="files",
            help="Stored mapping (.json); with --on, a file of any mapping format.",
        ),
    ] = None,
    second: Annotated[
        str | None, argument(metavar="OTHER", values="files", help="The mapping to compare it with.")
    ] = None,
    mapping_format: MappingFormat = None,
    baseline: Annotated[str | None, option("--baseline", metavar="TOOL", hidden=True)] = None,
    json: Json = False,
) -> None:
    """Compare the metrics of two mappings of PATTERN, and count the tasks that are on different slots."""
    from hopbytes.cli.output import print_json, print_text, tell
    from hopbytes.show.evaluation_text import compare as compare_mappings

    if first is None:
        from pathlib import Path

        from hopbytes.cli.verb_compare_runs import compare_runs

        tell("benchmark runs are compared by 'hopbytes compare-runs'")
        compare_runs(Path(pattern), baseline or "sharedmap", json)
        return
    if second is None:
        raise UsageError("the second mapping is missing: hopbytes compare PATTERN MAPPING OTHER")
    where = None if machine.unsaid else machine.allocation()
    graph = reading.read(pattern)
    mappings = [given_mapping(path, mapping_format, where, graph.n, graph) for path in (first, second)]
    slot = mappings[0].where.slot_word
    comparison = dataclasses.replace(compare_mappings(graph, *mappings), slot=slot)
    if json:
        print_json(comparison.to_dict())
    else:
        print_text(comparison.text(first, second))
