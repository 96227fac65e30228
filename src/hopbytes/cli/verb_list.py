"""``hopbytes list``: what is registered."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import Json


def list(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="What to list: mappers, machines, …")],
    json: Json = False,
) -> None:
    """List what is registered under a kind, with its options."""
    from hopbytes.cli.output import print_json, print_text
    from hopbytes.report.catalogue import catalogue, describe

    rows = catalogue(kind)
    if json:
        print_json(rows)
    else:
        print_text(describe(rows))
