"""``hopbytes convert``: a pattern from one format to another."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import Quiet, ReadingOptions, WritingOptions
from hopbytes.cli.declare import argument, option


def convert(
    source: Annotated[
        str, argument(metavar="IN", help="Pattern to read, or - for standard input.", values="patterns")
    ],
    target: Annotated[
        str, argument(metavar="OUT", help="File to write, or - for standard output.", values="files")
    ],
    reading: ReadingOptions,
    writing: WritingOptions,
    symmetrize: Annotated[
        bool,
        option(
            "--symmetrize",
            panel="Output",
            help="Give both directions of a pair the same volume, as METIS files need.",
        ),
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Convert a pattern to another format."""
    import hopbytes as hb
    from hopbytes.cli.output import tell

    receipt = hb.convert(source, target, symmetrize=symmetrize, **reading.keywords(), **writing.keywords())
    if not quiet:
        tell(*receipt.notices)
