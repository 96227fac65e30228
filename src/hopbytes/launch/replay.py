"""Measures how long the messages of a pattern take with a mapping, without any computation."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.launch.command import LaunchCommand, Start, build_program, compilers_of
from hopbytes.launch.replay_program import LACKING, LONE, MARK, UNDER_WAY
from hopbytes.launch.start import checked_command, launch_files, prepare_start
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.util.programs import run_program

#: The probable reason if each process is alone in its MPI_COMM_WORLD, for the C program and that in Python.
OTHER_COMPILER = "is the compiler that of the launcher's MPI? (`compiler='mpicc'` names it)"
OTHER_MPI = "does mpi4py load the launcher's MPI? (MPI4PY_LIBMPI=FILE names it)"
ALONE = re.compile(re.escape(LONE) + "(.{0,60})")
#: Default number of bytes that the busiest rank sends in a round.
MOST_BYTES = 64 * 2**20


@frozen
class Replayed:
    """The measured times."""

    #: time of the slowest rank in every round, from its first send to its last completion
    seconds: tuple[float, ...]
    round_bytes: int  # number of bytes that all ranks together send in a round
    scale: float  # bytes of a round divided by those of the pattern

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    def to_dict(self) -> dict[str, Any]:
        return {
            "rounds": len(self.seconds),
            "seconds_median": self.median,
            "seconds_min": min(self.seconds),
            "seconds_max": max(self.seconds),
            "round_bytes": self.round_bytes,
            "scale": self.scale,
            "seconds": list(self.seconds),
        }

    def sent(self) -> str:
        messages = "every message of the pattern "
        messages += "in full" if self.scale == 1 else f"cut to {self.scale:.3g} of its bytes"
        return f"A round sends {self.round_bytes:,} bytes: {messages}"

    def times(self) -> str:
        low, high = min(self.seconds), max(self.seconds)
        return f"median {self.median:.6f} s of {len(self.seconds)} rounds ({low:.6f} to {high:.6f})"

    def summary(self) -> str:
        return f"{self.sent()}\n{self.times()}"


@frozen
class BothReplayed:
    """The measured times with a mapping, and in the order of the launcher itself."""

    launcher: Replayed
    mapping: Replayed

    @property
    def ratio(self) -> float:
        own = self.launcher.median
        return self.mapping.median / own if own else 1.0

    def to_dict(self) -> dict[str, Any]:
        return {**self.mapping.to_dict(), "launcher_order": self.launcher.to_dict(), "ratio": self.ratio}

    def summary(self) -> str:
        less = f"{abs(1 - self.ratio):.1%} {'less' if self.ratio <= 1 else 'more'}"
        return (
            f"{self.mapping.sent()}\nlauncher's own order: {self.launcher.times()}\n"
            f"mapping:              {self.mapping.times()}\n"
            f"The mapping takes {self.ratio:.2f} of the time of the launcher's own order: {less}"
        )


def message_sizes(graph: CommGraph, most: int = MOST_BYTES) -> tuple[Int64, float]:
    """Return int64[m], the bytes of every arc in a round, and the factor by which they were scaled."""
    # Every arc becomes one message of its whole volume. If a rank would send more than `most` bytes, all
    # volumes are scaled down by one factor; every message keeps at least one byte. Arcs of a task to itself
    # send nothing. O(m).
    volumes = np.ones(graph.m, np.int64) if graph.volumes is None else graph.volumes
    source = graph.sources()
    volumes = np.where(source == graph.targets, 0, volumes)
    busiest = int(np.bincount(source, weights=volumes, minlength=graph.n).max(initial=0))
    factor = min(1.0, most / busiest) if busiest else 1.0
    scaled = np.maximum(np.floor(volumes * factor), 1).astype(np.int64)
    return np.where(volumes > 0, scaled, 0).astype(np.int64), factor


def replay(
    graph: CommGraph, mapping: Mapping | None, words: list[str], *, rounds: int = 20, most: int = MOST_BYTES,
    compiler: str | None = None, python: str | None = None, **options: Any,
) -> Replayed:
    """Send the messages of a pattern under real MPI with a mapping, and measure the rounds."""
    command = LaunchCommand.parse(words) if mapping is None else checked_command(words, graph.n)
    if command.program:
        raise UnsupportedError(f"{command.program[0]}: a program, expected the launcher and its options only")
    sizes, factor = message_sizes(graph, most)
    sent = sizes > 0
    source = graph.sources()[sent]
    starts = np.searchsorted(source, np.arange(graph.n + 1)).astype(np.int64)
    with launch_files(None) as stem:
        data = f"{stem}.messages"
        try:
            with open(data, "wb") as stream:
                stream.write(np.concatenate([[graph.n, len(source)], starts]).astype(np.int64).tobytes())
                stream.write(np.stack([graph.targets[sent], sizes[sent]], axis=1).astype(np.int64).tobytes())
        except OSError as error:
            raise UnsupportedError(f"{data}: cannot be written: {error.strerror}") from None
        alone: list[str] = []
        for program, hint in _programs(command, stem, compiler, python):
            started = dataclasses.replace(command, program=(*program, data, str(rounds)))
            start = Start(tuple(started.words()))
            if mapping is not None:
                start = prepare_start(mapping, started, stem, force=True, **options).start
            seconds = _measured(start, hint, alone)
            if seconds:
                return Replayed(seconds, int(sizes.sum()), factor)
    raise HopbytesError(alone[0])


def replay_both(graph: CommGraph, mapping: Mapping, words: list[str], **options: Any) -> BothReplayed:
    """Measure the launcher's own order and a mapping one after the other; see :func:`replay`."""
    placed = replay(graph, mapping, words, **options)  # the mapping first: it is what may be refused
    return BothReplayed(replay(graph, None, words, **options), placed)


def _programs(
    command: LaunchCommand, stem: str, compiler: str | None, python: str | None
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield programs that replay a pattern, the likeliest to fit the launcher first, each with a hint."""
    refused: list[str] = []
    built = 0
    for candidate in [] if python else [compiler] if compiler else compilers_of(command):
        try:
            program = build_program(candidate, "replay.c", f"{stem}.replay{built}")
        except UnsupportedError as error:
            refused.append(str(error))
            continue
        built += 1
        yield (program,), OTHER_COMPILER
    if compiler and not built:
        raise UnsupportedError(refused[0])
    if python or (not built and find_spec("mpi4py") is not None):
        yield (python or sys.executable, "-m", "hopbytes.launch.replay_program"), OTHER_MPI
    elif not built:
        lacking = "; ".join([*refused, "mpi4py is not installed either"]) if refused else "neither was found"
        raise UnsupportedError(
            f"an MPI compiler or mpi4py is needed to send the messages: {lacking}, expected mpicc of the "
            "launcher's MPI on the path (`compiler='mpicc'`)"
        )


def _measured(start: Start, hint: str, alone: list[str]) -> tuple[float, ...]:
    """Return the times; none where each process was alone, which is added to `alone` as a message."""
    environment = {**os.environ, **dict(start.environment)}
    output, code = run_program(start.words, environment=environment, marker=UNDER_WAY, hint=hint)
    for line in output.splitlines():
        _, mark, record = line.partition(MARK)
        if mark:
            return tuple(float(value) for value in json.loads(record)["seconds"])
    found = ALONE.findall(output)
    if len(found) > 1:
        alone.append(f"{start.words[0]}: each process is alone under {found[0].strip()}: {hint}")
        return ()
    _, lacks, reason = output.partition(LACKING)
    what = f"ended with code {code} and no measurement"
    if lacks:
        what = f"the nodes lack mpi4py: {reason.splitlines()[0][:200]}"
    elif hint is OTHER_MPI:
        what += " (the nodes need hopbytes and mpi4py)"
    raise HopbytesError(f"{start.words[0]}: {what}")
