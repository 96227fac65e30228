"""The launch command that follows ``--``."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from hopbytes.cli.declare import UsageError, argument

CommandWords: TypeAlias = Annotated[
    list[str] | None,
    argument(
        metavar="-- LAUNCHER …", values="words",
        help="The launcher with its options, and the program: mpirun -n 64 ./app",
    ),
]


def command_words(words: list[str] | None) -> list[str]:
    """Return the words; raise a usage error if there are none."""
    if not words:
        raise UsageError("the command to launch is missing behind --, for instance: -- mpirun -n 64 ./app")
    return words
