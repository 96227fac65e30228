"""Running a program unchanged and keeping what it sends."""

from __future__ import annotations

import glob
import os
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.exchange import read
from hopbytes.launching.command import LaunchCommand
from hopbytes.launching.passing import run_through
from hopbytes.launching.start import shared_folder
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import check_model
from hopbytes.record.application import Application, application_of
from hopbytes.record.belonging import alone, check_belongs, clash
from hopbytes.record.build import interposer_for
from hopbytes.record.counts import read_counts
from hopbytes.record.facts import SPLIT, counted, witnessed
from hopbytes.record.injection import handed_on, keeps_monitoring_out, monitoring, preloading
from hopbytes.record.missing import hosts_of, reason


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of a run.

    Parameters
    ----------
    graph : CommGraph or None
        None when the recording is not complete.
    code : int
        The program's own exit code.
    problem : str
        Why there is no graph.
    """

    graph: CommGraph | None
    code: int
    problem: str = ""


def record(
    words: list[str],
    *,
    collectives: str | None = None,
    skip_first: float = 0.0,
    phase: int | None = None,
    per_communicator: bool = False,
    compiler: str | None = None,
    hosts: bool = True,
    launcher: str | None = None,
) -> Recorded:
    """Run a launch command with its own streams, signals and exit code, and return its pattern.

    Open MPI counts with its monitoring component, which sees what collectives become. Any other MPI, and
    everything that needs phases or communicators, gets an interposer that is built with the user's compiler
    wrapper and preloaded. Both are switched on by the environment alone.

    Parameters
    ----------
    words : list of str
        Launcher, its options, the program and its arguments.
    collectives : str, optional
        Model for the interposer (:data:`hopbytes.patterns.collective_messages.MODELS`); naming one asks for
        the interposer.
    skip_first : float
        Seconds after MPI_Init that do not count.
    phase : int, optional
        Only what was sent after ``MPI_Pcontrol(phase)``, phase > 1; 0 and 1 pause and go on.
    per_communicator : bool
        Keep bytes per communicator in ``meta["communicators"]``.
    compiler : str, optional
        Wrapper to build the interposer with (mpicc); naming one asks for the interposer.
    hosts : bool
        Ask for the host of every rank where the recording itself does not say it: one more, tiny launch.
    launcher : str, optional
        What the launcher is like, for wrappers that nobody here knows
        (:data:`hopbytes.launching.launchers.KINDS`).

    Raises
    ------
    UnsupportedError
        Before anything is started: an unknown launcher or program, a static binary, no compiler.
    """
    command = LaunchCommand.parse(words, launcher, several=True)
    application = application_of(command)
    check_belongs(command, application)
    special = collectives or skip_first or phase is not None or per_communicator or compiler
    counting = application.family != "openmpi" or bool(special)
    model = check_model(collectives or "ring")
    library = str(interposer_for(application, command, compiler)) if counting else ""
    barred = keeps_monitoring_out(command)
    if not counting and (application.unfit or barred):
        # Its monitoring reads every topology as Cartesian, every group as its own, and heeds no
        # MPI_Pcontrol (4.1.4, 5.0.11).
        library = _own_interposer(application, command)
        counting = bool(library)
        if barred and not counting:
            what = "leaves Open MPI's monitoring out"
            raise UnsupportedError(f"{barred}: {what}, expected {barred},monitoring or --cc mpicc")
    with shared_folder() as folder:
        if counting:
            settings = handed_on(command, preloading(library, folder, skip_first))
        else:
            library = _own_interposer(application, command)
            settings = monitoring(folder, command) | handed_on(command, _witnessing(library, folder))
        begun = time.monotonic()
        code = run_through(words, settings)
        seconds = time.monotonic() - begun
        two = clash(folder, command, library)
        if two:
            return Recorded(None, code, two)
        try:
            if counting:
                graph, counts = read_counts(folder, model, phase)
                facts = counted(counts, model, per_communicator)
            else:
                graph, facts = _monitored(folder, command, application)
        except FormatError as error:
            why = reason(folder, command, application, error.what, code, counting)
            return Recorded(None, code, why)
        single = alone(folder, command, graph.n, facts.get("mpi", ""))
        if single:
            return Recorded(None, code, single)
    if hosts and "hosts" not in facts and not code:
        facts["hosts"] = hosts_of(command)
    facts |= {"command": words, "elapsed_seconds": round(seconds, 6), "launcher": command.launcher.name}
    notices = [*graph.meta.get("notices", ()), *facts.pop("notices", ())]
    if code and "cut" not in facts:
        notices.append(f"the program ended with code {code}: the pattern is that of a run that failed")
    if not counting and application.unfit:
        notices.append(
            f"the program names {', '.join(application.unfit)}: Open MPI's own counting is wrong about them, "
            "expected the interposer (--cc mpicc)"
        )
    meta = {"name": os.path.basename(command.program[0]), "recorded": facts}
    return Recorded(replace(graph, meta=meta | ({"notices": notices} if notices else {})), code)


def _witnessing(library: str, folder: str) -> dict[str, str]:
    """Return the environment that lets the interposer tell hosts and components while Open MPI counts.

    Nothing where it cannot be built or nobody knows whether it belongs to the program's MPI.
    """
    return preloading(library, folder, 0.0) | {"HOPBYTES_RECORD_WITNESS": "1"} if library else {}


def _own_interposer(application: Application, command: LaunchCommand) -> str:
    """Return the interposer for a program whose MPI is known; "" where it cannot be built."""
    try:
        return str(interposer_for(application, command)) if application.library else ""
    except UnsupportedError:
        return ""


def _monitored(
    folder: str, command: LaunchCommand, application: Application
) -> tuple[CommGraph, dict[str, Any]]:
    parts = sorted(glob.glob(os.path.join(glob.escape(folder), "rank.*.prof")))
    if not parts:
        raise FormatError(folder, None, "no rank wrote anything, expected a file per rank")
    graph: CommGraph = read(parts[0], "monitoring")
    version = command.launcher.version if command.launcher.form == "openmpi" else ""
    facts: dict[str, Any] = {"mpi": f"Open MPI {version}".strip(), "by": "monitoring (E + I + S + R)"}
    try:
        persistent, seen = read_counts(folder, "ignore")
    except FormatError:  # no witness
        with open(parts[0], encoding="utf-8", errors="replace") as file:
            facts["notices"] = [SPLIT] if "SPLIT_TYPE" in file.read() else []
        if application.persistent or not application.linked:
            what = "persistent and partitioned sends, if any, are not counted by Open MPI"
            facts["notices"].append(f"{what}, and MPI_Pcontrol is not heeded (--cc mpicc does both)")
        return graph, facts
    if persistent.n == graph.n and persistent.m:
        graph = _sum(graph, persistent)
        facts["by"] += " and persistent sends by the interposer"
    return graph, facts | witnessed(seen)


def _sum(one: CommGraph, other: CommGraph) -> CommGraph:
    """Return the traffic of both."""
    columns = [
        np.concatenate(pair) for pair in (
            (one.sources(), other.sources()), (one.targets, other.targets),
            (one.arc_volumes(), other.arc_volumes()), (one.arc_messages(), other.arc_messages()),
        )
    ]  # fmt: skip
    return CommGraph.from_edges(*columns, n=one.n, meta=one.meta)
