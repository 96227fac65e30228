"""``hopbytes show``: what a thing is."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import Json, ReadingOptions
from hopbytes.cli.machine_options import Adapters, Hosts, NodeNameMap, Rails


def show(
    thing: Annotated[
        str,
        typer.Argument(metavar="THING", help="A machine spec, a file, or a name that 'hopbytes list' shows."),
    ],
    reading: ReadingOptions,
    route: Annotated[
        tuple[str, str] | None,
        typer.Option("--route", metavar="A B", help="Only the links from node A to B, names or numbers."),
    ] = None,
    hosts: Hosts = None,
    rails: Rails = None,
    adapters: Adapters = None,
    node_name_map: NodeNameMap = None,
    json: Json = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Draw a machine: FILE.svg, or .png and .pdf (matplotlib)."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that hopbytes did not write.")
    ] = False,
) -> None:
    """Describe a machine spec, a pattern or mapping file, or a registered name."""
    from hopbytes.cli.output import print_json, print_text, tell
    from hopbytes.report.thing import draw_thing, explain

    told = {"hosts": hosts, "rails": rails, "adapters": adapters, "node_name_map": node_name_map}
    given = {name: value for name, value in told.items() if value is not None}
    if output is not None:
        if route is not None or json:
            raise typer.BadParameter("-o draws a machine: leave --route and --json away")
        draw_thing(thing, output, force=force, machine_options=given)
        tell(f"{output} written")
        return
    facts, text = explain(thing, route=route, machine_options=given, **reading.keywords())
    if json:
        print_json(facts)
    else:
        print_text(text)
