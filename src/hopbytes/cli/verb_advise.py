"""``hopbytes advise``: is another placement worth it, and what to type."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import ComparedOrder as Order
from hopbytes.cli.common_options import Json, PatternFile, ReadingOptions, SpreadOptions
from hopbytes.cli.declare import option
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.simulation_options import SimulationOptions


def advise(
    pattern: PatternFile,
    machine: MachineOptions,
    reading: ReadingOptions,
    spread: SpreadOptions,
    simulation: SimulationOptions,
    presets: Annotated[
        list[str] | None,
        option(
            "--preset", metavar="NAME", panel="Method", values="presets",
            default="fast, eco and strong; on networks routed too",
            help="Preset to examine; may be repeated.",
        ),
    ] = None,
    seeds: Annotated[
        int,
        option("--seeds", metavar="N", panel="Method", least=1, help="Seeds of every preset to examine."),
    ] = 3,
    compare_with: Order = None,
    json: Json = False,
) -> None:
    """Advise whether another placement of PATTERN is worth it, by predicted times of its messages.

    Examined are the launcher's own order, other orders of launchers, and what the presets would give. The
    advice may be to keep what you have.
    """
    from hopbytes.cli.output import print_json, print_text, tell
    from hopbytes.launch.usual import usual_order
    from hopbytes.show.advice import advice_record, advice_text, table_head
    from hopbytes.show.advice import advise as advised

    where = machine.allocation()
    graph = reading.read(pattern)
    slots = {"per": machine.tasks_per_unit(), **spread.keywords()}
    usual = compare_with or usual_order(None, where)
    chosen = tuple(presets) if presets else None
    options = {"presets": chosen, "seeds": seeds, "spread": slots, "tell": tell, **simulation.keywords()}
    found = advised(graph, where, usual=usual, **options)
    spec = machine.on or where.machine.spec()
    if json:
        print_json(advice_record(found, pattern, spec))
    else:
        tell(*found.notices)
        text = advice_text(found, pattern, spec)
        print_text(text, {**found.verdict.marks, table_head(text): "head"})
