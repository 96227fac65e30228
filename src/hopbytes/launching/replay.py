"""How long a pattern's messages take on a placement: a program that sends them and nothing else."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._util.programs import run_program
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.launching.command import LaunchCommand, Start
from hopbytes.launching.replay_program import LONE, MARK, UNDER_WAY
from hopbytes.launching.start import checked_command, launch_files, prepare_start
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

#: The probable reason when processes do not find each other.
OTHER_MPI = "does mpi4py load the launcher's MPI? (MPI4PY_LIBMPI=FILE names it)"
ALONE = re.compile(re.escape(LONE) + "(.{0,60})")
#: Bytes that the busiest rank sends in a round unless the caller says otherwise.
MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was measured.

    Parameters
    ----------
    seconds : tuple of float
        Of every round: the slowest rank, from its first send to its last completion.
    round_bytes : int
        Bytes all ranks together sent in a round.
    scale : float
        A round's bytes over the pattern's.
    code : int
        Exit code of the launcher.
    """

    seconds: tuple[float, ...]
    round_bytes: int
    scale: float
    code: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
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
        """Return one sentence."""
        median = float(np.median(self.seconds))
        return (
            f"{len(self.seconds)} rounds of {self.round_bytes:,} bytes ({self.scale:.3g} of the pattern): "
            f"median {median:.6f} s, {min(self.seconds):.6f} to {max(self.seconds):.6f} s"
        )


def message_sizes(graph: CommGraph, most: int = MOST_BYTES) -> tuple[Int64, float]:
    """Return int64[m], the bytes of every arc in a round, and the factor they were scaled by.

    One message per arc, its whole volume, made smaller by one factor for all so that no rank sends more
    than `most` bytes; at least one byte per arc. Arcs of a task to itself send nothing. O(m).
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
    """Launch the replay of a pattern on a placement and measure it.

    Parameters
    ----------
    graph : CommGraph
    mapping : Mapping or None
        None: the command as it is, wherever the launcher puts ranks.
    words : list of str
        A launch command without a program.
    rounds : int
        Rounds that are measured, after one that is not.
    most : int
        See :func:`message_sizes`.
    python : str
        Interpreter on the compute nodes; needs hopbytes and mpi4py.
    **options
        For the writer.

    Raises
    ------
    UnsupportedError, InfeasibleError
        A command that cannot take the placement; a program in it.
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
    said, code = run_program(start.words, environment=environment, marker=UNDER_WAY, hint=OTHER_MPI)
    for line in said.splitlines():
        _, mark, record = line.partition(MARK)
        if mark:
            return tuple(float(value) for value in json.loads(record)["seconds"])
    alone = ALONE.findall(said)
    if len(alone) > 1:
        what = f"each process is alone under {alone[0].strip()}: {OTHER_MPI}"
    else:
        what = f"ended with code {code} and no measurement (the nodes need hopbytes and mpi4py)"
    raise HopbytesError(f"{start.words[0]}: {what}")
