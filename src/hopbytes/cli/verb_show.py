"""``hopbytes show``: what a machine, pattern, mapping or registered name is, and lists of names."""

from __future__ import annotations

from typing import Annotated, Any

from hopbytes.cli import options as opt
from hopbytes.cli.declare import UsageError, argument, option
from hopbytes.cli.machine_options import Distance, Hosts
from hopbytes.cli.output import print_answer, tell


def show(
    reading: opt.ReadingOptions,
    thing: Annotated[str | None, argument(
        "Machine, pattern, mapping, a registered name (eco, multisection, openmpi …), or what to list: "
        "presets, mappers, refiners, objectives, machines, patterns or formats.", "[THING]", values="things",
    )] = None,
    route: Annotated[tuple[str, str] | None, option(
        "Print only the links from node A to B (names or numbers).", "A B",
    )] = None,
    on: Annotated[str | None, option(
        "Machine on which the mapping THING is drawn, if THING does not contain it.",
        "SPEC", values="machines",
    )] = None,
    distance: Distance = None,
    hosts: Hosts = None,
    json: opt.Json = False,
    output: opt.Picture = None,
    force: opt.Force = False,
) -> None:
    """Describe a machine, a pattern, a mapping, or an algorithm, preset or format.

    With presets, mappers, refiners, objectives, machines, patterns or formats as THING, the names of that
    kind are listed with their options; without THING, the kinds.
    """
    from hopbytes.show.catalogue import KINDS, catalogue, describe, kinds

    if thing is None or thing in KINDS:
        rows = kinds() if thing is None else catalogue(thing)
        return print_answer(rows, describe(rows), json=json)
    given = opt.present(distance=distance, hosts=hosts)
    pattern: Any = {"input_format": reading.input_format, "max_bytes": opt.max_bytes()}
    if output is not None:
        if route is not None or json:
            raise UsageError("-o draws a picture: --route and --json cannot be given with it")
        from hopbytes.show.pictures import draw_thing

        draw_thing(thing, output, force=force, on=on, machine_options=given, **pattern)
        tell(f"{output} written")
        return None
    if on is not None:
        raise UsageError("--on says where a mapping is drawn: give -o FILE.svg with it")
    from hopbytes.show.describe import explain

    facts, text = explain(thing, route=route, machine_options=given, **pattern)
    return print_answer(facts, text, json=json)
