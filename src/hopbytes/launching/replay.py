"""Measures how long the messages of a pattern take with a mapping, without any computation."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes._util.programs import run_program
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.launching.command import LaunchCommand, Start
from hopbytes.launching.replay_program import LONE, MARK, UNDER_WAY
from hopbytes.launching.start import checked_command, launch_files, prepare_start
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

#: The probable reason if each process is alone in its MPI_COMM_WORLD.
OTHER_MPI = "does mpi4py load the launcher's MPI? (MPI4PY_LIBMPI=FILE names it)"
ALONE = re.compile(re.escape(LONE) + "(.{0,60})")
#: Default number of bytes that the busiest rank sends in a round.
MOST_BYTES = 64 * 2**20


@frozen
class Replayed:
    """The measured times.

    Parameters
    ----------
    seconds : tuple of float
        Time of the slowest rank in every round, from its first send to its last completion.
    round_bytes : int
        Number of bytes that all ranks together send in a round.
    scale : float
        Bytes of a round divided by those of the pattern.
    code : int
        Exit code of the launcher.
    """

    seconds: tuple[float, ...]
    round_bytes: int
    scale: float
    code: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as a dictionary for JSON."""
        return {
            "rounds": len(self.seconds),
            "seconds_median": float(np.median(self.seconds)),
            "seconds_min": min(self.seconds),
            "seconds_max": max(self.seconds),
            "round_bytes": self.round_bytes,
            "scale": self.scale,
            "seconds": list(self.seconds),
        }

    def summary(self) -> str:
        """Return the measurement in one sentence."""
        median = float(np.median(self.seconds))
        return (
            f"{len(self.seconds)} rounds of {self.round_bytes:,} bytes ({self.scale:.3g} of the pattern): "
            f"median {median:.6f} s, {min(self.seconds):.6f} to {max(self.seconds):.6f} s"
        )


def message_sizes(graph: CommGraph, most: int = MOST_BYTES) -> tuple[Int64, float]:
    """Return int64[m], the bytes of every arc in a round, and the factor by which they were scaled.

    Every arc becomes one message of its whole volume. If a rank would send more than `most` bytes, all
    volumes are scaled down by one factor; every message keeps at least one byte. Arcs of a task to itself
    send nothing. O(m).
    """
    volumes = np.ones(graph.m, np.int64) if graph.volumes is None else graph.volumes
    source = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    volumes = np.where(source == graph.targets, 0, volumes)
    busiest = int(np.bincount(source, weights=volumes, minlength=graph.n).max(initial=0))
    factor = min(1.0, most / busiest) if busiest else 1.0
    scaled = np.maximum(np.floor(volumes * factor), 1).astype(np.int64)
    return np.where(volumes > 0, scaled, 0).astype(np.int64), factor


def replay(
    graph: CommGraph,
    mapping: Mapping | None,
    words: list[str],
    *,
    rounds: int = 20,
    most: int = MOST_BYTES,
    python: str = sys.executable,
    **options: Any,
) -> Replayed:
    """Send the messages of a pattern under real MPI with a mapping, and measure the rounds.

    Parameters
    ----------
    graph : CommGraph
    mapping : Mapping or None
        None starts the command unchanged, with ranks wherever the launcher places them.
    words : list of str
        A launch command without a program.
    rounds : int
        Number of measured rounds; one round that is not measured precedes them.
    most : int
        See :func:`message_sizes`.
    python : str
        Interpreter on the compute nodes, where hopbytes and mpi4py must be installed.
    **options
        Options of the writer of the format.

    Raises
    ------
    UnsupportedError, InfeasibleError
        The mapping cannot be inserted into the command, or the command has a program.
    HopbytesError
        The launch failed.
    """
    command = LaunchCommand.parse(words) if mapping is None else checked_command(words, graph.n)
    if command.program:
        raise UnsupportedError(f"{command.program[0]}: a program, expected the launcher and its options only")
    sizes, factor = message_sizes(graph, most)
    sent = sizes > 0
    source = np.repeat(np.arange(graph.n), np.diff(graph.indptr))[sent]
    starts = np.searchsorted(source, np.arange(graph.n + 1)).astype(np.int64)
    with launch_files(None) as stem:
        data = f"{stem}.npz"
        try:
            np.savez(data, indptr=starts, targets=graph.targets[sent], bytes=sizes[sent])
        except OSError as error:
            raise UnsupportedError(f"{data}: cannot be written: {error.strerror}") from None
        program = (python, "-m", "hopbytes.launching.replay_program", data, str(rounds))
        command = dataclasses.replace(command, program=program)
        start = Start(tuple(command.words()))
        if mapping is not None:
            start = prepare_start(mapping, command, stem, **options).start
        seconds = _measured(start)
    return Replayed(seconds, int(sizes.sum()), factor)


def _measured(start: Start) -> tuple[float, ...]:
    environment = {**os.environ, **dict(start.environment)}
    output, code = run_program(start.words, environment=environment, marker=UNDER_WAY, hint=OTHER_MPI)
    for line in output.splitlines():
        _, mark, record = line.partition(MARK)
        if mark:
            return tuple(float(value) for value in json.loads(record)["seconds"])
    alone = ALONE.findall(output)
    if len(alone) > 1:
        what = f"each process is alone under {alone[0].strip()}: {OTHER_MPI}"
    else:
        what = f"ended with code {code} and no measurement (the nodes need hopbytes and mpi4py)"
    raise HopbytesError(f"{start.words[0]}: {what}")
