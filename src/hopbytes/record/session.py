"""Runs a program unchanged and records what it sends."""

from __future__ import annotations

import glob
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.exchange import read
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.passing import run_through
from hopbytes.launch.start import shared_folder
from hopbytes.model.comm_graph import CommGraph
from hopbytes.patterns.collective_messages import check_model
from hopbytes.record.application import Application, application_of
from hopbytes.record.belonging import check_belongs, explain_lone_processes, explain_two_libraries
from hopbytes.record.build import interposer_for
from hopbytes.record.counts import read_counts
from hopbytes.record.facts import SPLIT, counted, witnessed
from hopbytes.record.injection import handed_on, keeps_monitoring_out, monitoring, preloading, with_preloaded
from hopbytes.record.missing import hosts_of, reason
from hopbytes.record.order import TRACE_STEPS, check_folder, read_order, write_trace


@frozen
class Recorded:
    """The result of a recorded run."""

    graph: CommGraph | None  # the pattern; None if the recording is not complete
    code: int  # the exit code of the program
    problem: str = ""  # the reason why there is no graph
    trace: str = ""  # the first file of the trace, if one was asked for and is complete


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
    trace: str | None = None,
    trace_steps: int = TRACE_STEPS,
) -> Recorded:
    """Run a launch command, forward its streams, signals and exit code, and return its pattern.

    Open MPI counts with its monitoring component, which also counts the messages that implement collectives.
    For any other MPI, and for phases and communicators, an interposer is built with the user's compiler
    wrapper and preloaded. Environment variables alone enable either of them.
    """
    if trace:
        check_folder(trace)
    typed, command = words, LaunchCommand.parse(words, launcher, several=True)
    application = application_of(command)
    check_belongs(command, application)
    special = collectives or skip_first or phase is not None or per_communicator or compiler or trace
    counting = application.family != "openmpi" or bool(special)
    model = check_model(collectives or "ring")
    library = str(interposer_for(application, command, compiler)) if counting else ""
    barred = keeps_monitoring_out(command)
    if not counting and (application.unfit or barred):
        # The monitoring of Open MPI 4.1.4 and 5.0.11 treats every topology as Cartesian and every remote
        # group as the local one, and it ignores MPI_Pcontrol.
        library = _own_interposer(application, command)
        counting = bool(library)
        if barred and not counting:
            what = "excludes Open MPI's monitoring"
            raise UnsupportedError(f"{barred}: {what}, expected {barred},monitoring or `compiler='mpicc'`")
    kept, missing = "", tuple[str, ...]()
    with shared_folder() as folder:
        if counting:
            loading = preloading(library, folder, skip_first, trace_steps if trace else 0)
            settings = handed_on(command, loading)
        else:
            library = _own_interposer(application, command)
            settings = monitoring(folder, command) | handed_on(command, _witnessing(library, folder))
        if library and any("LD_PRELOAD" in word for word in words):
            words = with_preloaded(command, library).words()
        begun = time.monotonic()
        code = run_through(words, settings)
        seconds = time.monotonic() - begun
        two = explain_two_libraries(folder, command, library)
        if two:
            return Recorded(None, code, two)
        try:
            if counting:
                graph, counts = read_counts(folder, model, phase)
                facts = counted(counts, model, per_communicator)
                if trace:
                    kept, missing = _traced(folder, graph.n, trace, trace_steps, "cut" in facts)
            else:
                graph, facts = _monitored(folder, command, application)
        except FormatError as error:
            why = reason(folder, command, application, error.what, code, counting)
            return Recorded(None, code, why)
        single = explain_lone_processes(folder, command, graph.n, facts.get("mpi", ""))
        if single:
            return Recorded(None, code, single)
    if hosts and "hosts" not in facts and not code:
        facts["hosts"] = hosts_of(command)
    facts |= {"command": typed, "elapsed_seconds": round(seconds, 6), "launcher": command.launcher.name}
    notices = [*graph.meta.get("notices", ()), *facts.pop("notices", ()), *missing]
    if code and "cut" not in facts:
        notices.append(f"the program ended with code {code}: the pattern is that of a run that failed")
    if not counting and application.unfit:
        notices.append(
            f"the program uses {', '.join(application.unfit)}: Open MPI's monitoring counts them wrongly, "
            "expected the interposer (`compiler='mpicc'`)"
        )
    meta = {"name": os.path.basename(command.program[0]), "recorded": facts}
    graph = replace(graph, meta=meta | ({"notices": notices} if notices else {}))
    return Recorded(graph, code, trace=kept)


def _traced(folder: str, n: int, target: str, steps: int, cut: bool) -> tuple[str, tuple[str, ...]]:
    """Write the trace and return its first file, "" if there is none, and what is to be said about it."""
    if cut:
        return "", ("there is no trace: a signal ended the program",)
    try:
        trace = read_order(folder, n, steps)
    except FormatError as error:
        return "", (f"there is no trace: {error.what}",)
    path = write_trace(trace, target)
    return path, (f"trace: hopbytes simulate {path} --on MACHINE --grade replay", *trace.notices)


def _witnessing(library: str, folder: str) -> dict[str, str]:
    """Return the environment in which the interposer reports hosts and components while Open MPI counts.

    The result is empty if there is no interposer for the program's MPI.
    """
    return preloading(library, folder, 0.0) | {"HOPBYTES_RECORD_WITNESS": "1"} if library else {}


def _own_interposer(application: Application, command: LaunchCommand) -> str:
    """Return the interposer for a program whose MPI is known; "" if it cannot be built."""
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
    except FormatError:  # the interposer did not run beside Open MPI's monitoring
        with open(parts[0], encoding="utf-8", errors="replace") as file:
            facts["notices"] = [SPLIT] if "SPLIT_TYPE" in file.read() else []
        if application.persistent or not application.linked:
            what = "persistent and partitioned sends, if any, are not counted by Open MPI"
            facts["notices"].append(f"{what}, and it ignores MPI_Pcontrol (`compiler='mpicc'` handles both)")
        return graph, facts
    if persistent.n == graph.n and persistent.m:
        graph = _sum(graph, persistent)
        facts["by"] += " and persistent sends by the interposer"
    return graph, facts | witnessed(seen)


def _sum(one: CommGraph, other: CommGraph) -> CommGraph:
    """Return the sum of two patterns."""
    columns = [
        np.concatenate(pair) for pair in (
            (one.sources(), other.sources()), (one.targets, other.targets),
            (one.arc_volumes(), other.arc_volumes()), (one.arc_messages(), other.arc_messages()),
        )
    ]  # fmt: skip
    return CommGraph.from_edges(*columns, n=one.n, meta=one.meta)
