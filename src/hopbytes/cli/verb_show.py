"""``hopbytes show``: the description of a machine, pattern, mapping or registered name."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import Force, Json, ReadingOptions
from hopbytes.cli.declare import UsageError, argument, option
from hopbytes.cli.machine_options import Adapters, Hosts, LevelDistance, NodeNameMap, Rails


def show(
    thing: Annotated[
        str,
        argument(
            metavar="THING", values="things",
            help="Machine, pattern, mapping, or a name that 'hopbytes list' prints.",
        ),
    ],
    reading: ReadingOptions,
    route: Annotated[
        tuple[str, str] | None,
        option("--route", metavar="A B", help="Print only the links from node A to B (names or numbers)."),
    ] = None,
    on: Annotated[
        str | None,
        option(
            "--on", metavar="SPEC", values="machines",
            help="Machine on which the mapping THING is drawn, if THING does not contain it.",
        ),
    ] = None,
    level_distance: LevelDistance = None,
    hosts: Hosts = None,
    rails: Rails = None,
    adapters: Adapters = None,
    node_name_map: NodeNameMap = None,
    json: Json = False,
    output: Annotated[
        str | None,
        option(
            "--output", "-o", metavar="FILE", values="files",
            help="Draw it: a machine as boxes or links, a pattern as a matrix, a mapping as ranks on its "
            "machine. FILE.svg, or FILE.png or FILE.pdf (these two need matplotlib).",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Describe a machine, a pattern, a mapping, or an algorithm, preset or format."""
    from hopbytes.cli.output import print_json, print_text, tell
    from hopbytes.show.describe import explain

    options = {
        "distance": level_distance, "hosts": hosts, "rails": rails, "adapters": adapters,
        "node_name_map": node_name_map,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if output is not None:
        if route is not None or json:
            raise UsageError("-o draws a picture: --route and --json cannot be given with it")
        from hopbytes.show.pictures import draw_thing

        draw_thing(thing, output, force=force, on=on, machine_options=given, **reading.keywords())
        tell(f"{output} written")
        return
    if on is not None:
        raise UsageError("--on says where a mapping is drawn: give -o FILE.svg with it")
    facts, text = explain(thing, route=route, machine_options=given, **reading.keywords())
    if json:
        print_json(facts)
    else:
        print_text(text)
