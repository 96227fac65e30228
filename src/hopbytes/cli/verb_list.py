"""``hopbytes list``: registered algorithms, machines, patterns and formats."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import Json
from hopbytes.cli.declare import argument


def list(
    kind: Annotated[
        str | None,
        argument(
            metavar="[KIND]", values="kinds",
            help="What to list: mappers, refiners, presets, machines, patterns, formats or objectives.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List algorithms, presets, machines, patterns, formats or objectives with their options.

    Without KIND, the kinds are listed.
    """
    from hopbytes.cli.output import print_json, print_text
    from hopbytes.show.catalogue import catalogue, describe, kinds

    rows = kinds() if kind is None else catalogue(kind)
    if json:
        print_json(rows)
    else:
        print_text(describe(rows))
