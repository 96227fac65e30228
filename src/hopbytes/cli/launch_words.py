"""The launch command that follows ``--``."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

CommandWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="-- LAUNCHER …", help="The launcher with its options, and the program: mpirun -n 64 ./app"
    ),
]


def command_words(words: list[str] | None) -> list[str]:
    """Return the words; a usage error when there are none."""
    if not words:
        raise typer.BadParameter("say what to launch after --, for instance: -- mpirun -n 64 ./app")
    return words
