"""``hopbytes simulate``: the predicted time of the messages of a pattern under mappings."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import ComparedOrder as Order
from hopbytes.cli.common_options import Force, Json, MappingFormat, PatternFile, ReadingOptions, SpreadOptions
from hopbytes.cli.declare import UsageError, argument, option
from hopbytes.cli.launching_options import given_mapping
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.simulation_options import SimulationOptions


def simulate(
    pattern: PatternFile,
    machine: MachineOptions,
    reading: ReadingOptions,
    spread: SpreadOptions,
    simulation: SimulationOptions,
    mappings: Annotated[
        list[str] | None,
        argument(
            metavar="[MAPPING]...", values="files",
            help="Stored mappings (.json); with --on, files of any mapping format. Without any, only the "
            "launcher's own order is simulated.",
        ),
    ] = None,
    platform: Annotated[
        str | None,
        option(
            "--platform", metavar="FILE", panel="Output", values="files",
            help="Keep the platform as an XML file of SimGrid (that of the launcher's order).",
        ),
    ] = None,
    force: Force = False,
    compare_with: Order = None,
    mapping_format: MappingFormat = None,
    json: Json = False,
) -> None:
    """Predict how long the messages of PATTERN take, in the launcher's own order and under mappings.

    All messages of a round start at once, and rounds follow one another; computation is not part of it.
    """
    from hopbytes.cli.output import print_json, print_text, tell
    from hopbytes.launch.usual import usual_order
    from hopbytes.show.predictions import predict, predicted_text, predictions_record

    if not mappings and machine.unsaid:
        raise UsageError("the machine is missing: give --on SPEC, or a stored MAPPING")
    where = None if machine.unsaid else machine.allocation()
    graph = reading.read(pattern)
    found = {path: given_mapping(path, mapping_format, where, graph.n, graph) for path in mappings or ()}
    where = next((each.where for each in found.values()), where) if where is None else where
    assert where is not None
    order = compare_with or usual_order(mapping_format, where)
    options = {"per": machine.tasks_per_unit(), **spread.keywords()}
    written = {"platform": platform, "force": force}
    settings = {**simulation.keywords(), "tell": tell}
    predictions = predict(graph, where, found, order, options, settings, written)
    record = predictions_record(predictions, found, where)
    tell(*record["notices"])
    if json:
        print_json(record)
    else:
        text = predicted_text(predictions)
        print_text(text, dict.fromkeys(text.split("\n")[:2], "head"))
