"""``hopbytes bench-pattern``: the time of the messages of a pattern under a mapping."""

from __future__ import annotations

from typing import Annotated

from hopbytes.cli.common_options import Json, PatternFile, ReadingOptions
from hopbytes.cli.declare import argument, option
from hopbytes.cli.launch_words import CommandWords, command_words
from hopbytes.cli.launching_options import LaunchingOptions, given_mapping
from hopbytes.cli.machine_options import MachineOptions


def bench_pattern(
    pattern: PatternFile,
    mapping: Annotated[
        str,
        argument(
            metavar="MAPPING", values="files",
            help="Stored mapping, or - for the order of the launcher alone.",
        ),
    ],
    machine: MachineOptions,
    reading: ReadingOptions,
    launching: LaunchingOptions,
    command: CommandWords = None,
    rounds: Annotated[
        int, option("--rounds", metavar="N", least=1, help="Number of measured rounds.")
    ] = 20,
    most: Annotated[
        int,
        option(
            "--round-bytes", metavar="N", least=1,
            help="Maximum number of bytes that a rank sends in a round; larger patterns are scaled down.",
        ),
    ] = 64 * 2**20,
    compiler: Annotated[
        str | None,
        option(
            "--cc", metavar="MPICC",
            help="MPI compiler to build the program with that sends the messages; by default one near the "
            "launcher, or mpi4py where there is none.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Benchmark the communication pattern alone under real MPI.

    The ranks send the messages of PATTERN in rounds, without any computation: with the mapping, then in the
    launcher's own order. Both times and their ratio are printed. A small C program does it, which the MPI
    compiler builds; without a compiler, mpi4py and hopbytes have to be installed on the compute nodes.
    """
    from hopbytes.cli.output import print_json, print_text
    from hopbytes.launch.replay import BothReplayed, Replayed, replay, replay_both

    words = command_words(command)
    graph = reading.read(pattern)
    where = machine.allocation() if machine.given else None
    form = "json" if where is None else None
    placed = None if mapping == "-" else given_mapping(mapping, form, where, graph.n)
    options = {"rounds": rounds, "most": most, "compiler": compiler, **launching.keywords()}
    measured: Replayed | BothReplayed
    if placed is None:
        measured = replay(graph, None, words, **options)
    else:
        measured = replay_both(graph, placed, words, **options)
    if json:
        print_json(measured.to_dict())
    else:
        print_text(measured.summary())
