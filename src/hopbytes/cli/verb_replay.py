"""``hopbytes replay``: how long the messages of a pattern take on a placement."""

from __future__ import annotations

from typing import Annotated

import typer

from hopbytes.cli.common_options import Json, PatternFile, ReadingOptions
from hopbytes.cli.launch_words import CommandWords, command_words
from hopbytes.cli.launching_options import LaunchingOptions, given_mapping
from hopbytes.cli.machine_options import MachineOptions


def replay(
    pattern: PatternFile,
    mapping: Annotated[
        str,
        typer.Argument(metavar="MAPPING", help="A placement; or - for wherever the launcher puts ranks."),
    ],
    machine: MachineOptions,
    reading: ReadingOptions,
    launching: LaunchingOptions,
    command: CommandWords = None,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="Rounds measured (20).")] = 20,
    most: Annotated[
        int, typer.Option("--round-bytes", metavar="N", min=1, help="Most bytes a rank sends in a round.")
    ] = 64 * 2**20,
    json: Json = False,
) -> None:
    """Send what PATTERN says under real MPI, without computing, and measure rounds.

    Needs mpi4py and hopbytes on the compute nodes. Nothing is judged: compare the numbers yourself.
    """
    from hopbytes.cli.output import print_json, print_text
    from hopbytes.launching.replay import replay as replayed

    words = command_words(command)
    graph = reading.read(pattern)
    where = machine.allocation() if machine.given else None
    form = "json" if where is None else None
    placed = None if mapping == "-" else given_mapping(mapping, form, where, graph.n)
    measured = replayed(graph, placed, words, rounds=rounds, most=most, **launching.keywords())
    if json:
        print_json(measured.to_dict())
    else:
        print_text(measured.summary())
