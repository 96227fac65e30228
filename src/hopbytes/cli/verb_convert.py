"""``hopbytes convert``: a pattern from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import Quiet, ReadingOptions, WritingOptions


def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A pattern file, or - for stdin.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="The file to write, or - for stdout.")],
    reading: ReadingOptions,
    writing: WritingOptions,
    symmetrize: Annotated[
        bool,
        typer.Option(
            "--symmetrize",
            rich_help_panel="Output",
            help="Give both directions of a pair the same volume, which METIS files need.",
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Read the pattern IN and write it to OUT in another format."""
    import hopbytes as hb
    from hopbytes.cli.output import tell

    receipt = hb.convert(source, target, symmetrize=symmetrize, **reading.keywords(), **writing.keywords())
    if not quiet:
        tell(*receipt.notices)
