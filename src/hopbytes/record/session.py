"""Runs a program unchanged and records what it sends; says what to do with the recording."""

from __future__ import annotations

import contextlib
import glob
import math
import os
import platform
import re
import shlex
import time
from dataclasses import replace
from typing import Any

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats.exchange import read
from hopbytes.launch.command import LaunchCommand
from hopbytes.launch.installed import silent_end
from hopbytes.launch.launch import seen_launch
from hopbytes.launch.start import machine_of_command, run_through, shared_folder
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.machines.node.job import READERS, same_host
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.phases import Phases
from hopbytes.patterns.base import recorded_hosts
from hopbytes.patterns.collective_messages import check_model
from hopbytes.record.application import (
    Application,
    application_of,
    check_belongs,
    explain_lone_processes,
    explain_two_libraries,
)
from hopbytes.record.counts import SPLIT, counted, read_counts, witnessed
from hopbytes.record.interposer import (
    handed_on,
    interposer_for,
    keeps_monitoring_out,
    monitoring,
    preloading,
    with_preloaded,
)
from hopbytes.record.order import KEPT_STEPS, TRACE_STEPS, check_folder, read_order, write_trace

#: Exit code of launchers and shells after a segmentation fault: 128 + SIGSEGV.
SEGMENTATION_FAULT = 139
#: Exit codes of launchers that start nothing: srun, Hydra and Open MPI 4; Open MPI 5 and 6.
REFUSED = (1, 77, 213, 243)
_FILES = re.compile(r"rank\.(\d+)\.(txt|prof)")
#: Maximum number of ranks or hosts in a message.
NAMED = 8


@frozen
class Recorded:
    """The result of a recorded run."""

    graph: CommGraph | None  # the pattern; None if the recording is not complete
    code: int  # the exit code of the program
    problem: str = ""  # the reason why there is no graph
    trace: str = ""  # the first file of the trace, if one was asked for and is complete
    #: the first actions of every rank, which show who waits for whom; empty if they are not known
    order: tuple[list[str], ...] = ()


def record(
    words: list[str],
    *,
    collectives: str | None = None,
    skip_first: float = 0.0,
    phase: int | str | None = None,
    per_communicator: bool = False,
    compiler: str | None = None,
    hosts: bool = True,
    launcher: str | None = None,
    trace: str | None = None,
    trace_steps: int = TRACE_STEPS,
    waiting: bool = True,
) -> Recorded:
    """Run a launch command, forward its streams, signals and exit code, and return its pattern."""
    # Open MPI counts with its monitoring component, which also counts the messages that implement
    # collectives. For any other MPI, and for phases and communicators, an interposer is built with the user's
    # compiler wrapper and preloaded. Environment variables alone enable either of them. The first steps of
    # every rank are kept in their order, unless not `waiting`.
    if trace:
        check_folder(trace)
    typed, command = words, LaunchCommand.parse(words, launcher, several=True)
    application = application_of(command)
    check_belongs(command, application)
    special = any((collectives, skip_first, phase is not None, per_communicator, compiler, trace))
    counting = application.family != "openmpi" or special
    model = check_model(collectives or "ring")
    if counting:
        library = str(interposer_for(application, command, compiler))
    else:
        library, counting = _beside_monitoring(application, command)
    kept, notices, order = "", list[str](), tuple[list[str], ...]()
    steps = KEPT_STEPS if waiting else 0
    with shared_folder() as folder:
        if counting:
            loading = preloading(library, folder, skip_first, trace_steps if trace else 0, steps)
            settings = handed_on(command, loading)
        else:
            loading = {}
            if library:  # the interposer reports hosts and components while Open MPI counts
                loading = preloading(library, folder, 0.0, kept_steps=steps)
                loading |= {"HOPBYTES_RECORD_WITNESS": "1"}
            settings = monitoring(folder, command) | handed_on(command, loading)
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
                graph, counts = read_counts(folder, model, phase if isinstance(phase, int) else None)
                if phase == "all":
                    graph = _with_phases(graph, folder, model, sorted(counts.phases))
                facts = counted(counts, model, per_communicator)
                if trace:
                    kept, notices = _traced(folder, graph.n, trace, trace_steps, "cut" in facts)
            else:
                graph, facts = _monitored(folder, command, application)
        except FormatError as error:
            return Recorded(None, code, reason(folder, command, application, error.what, code, counting))
        if waiting and library and "cut" not in facts:
            with contextlib.suppress(FormatError):  # as where one of the ranks did not preload the library
                order = tuple(read_order(folder, graph.n, None)[0])
        single = explain_lone_processes(folder, command, graph.n, facts.get("mpi", ""))
        if single:
            return Recorded(None, code, single)
    if hosts and "hosts" not in facts and not code:
        facts["hosts"] = hosts_of(command)
    facts |= {"command": typed, "elapsed_seconds": round(seconds, 6), "launcher": command.launcher.name}
    notices = [*graph.meta.get("notices", ()), *facts.pop("notices", ()), *notices]
    if code and "cut" not in facts:
        notices.append(f"the program ended with code {code}: the pattern is that of a run that failed")
    if not counting and application.unfit:
        notices.append(
            f"the program uses {', '.join(application.unfit)}: Open MPI's monitoring counts them wrongly, "
            "expected the interposer (`compiler='mpicc'`)"
        )
    meta = {"name": os.path.basename(command.program[0]), "recorded": facts}
    graph = replace(graph, meta=meta | ({"notices": notices} if notices else {}))
    return Recorded(graph, code, trace=kept, order=order)


def _with_phases(graph: CommGraph, folder: str, model: str, numbers: list[int]) -> CommGraph:
    """Return the sum of the patterns of all phases, which it keeps; the graph itself if there is but one."""
    if len(numbers) < 2:
        why = "the program has one phase only: it never called MPI_Pcontrol(N) with N > 1"
        return replace(graph, meta={**graph.meta, "notices": [*graph.meta.get("notices", ()), why]})
    parts = [read_counts(folder, model, number)[0] for number in numbers]
    named = [replace(part, meta={"name": f"phase {i}"}) for i, part in zip(numbers, parts, strict=True)]
    return replace(Phases.of(named).combined(), meta=graph.meta)


def _beside_monitoring(application: Application, command: LaunchCommand) -> tuple[str, bool]:
    """Return the interposer for a program of Open MPI, "" without one, and whether it counts instead."""
    library = ""
    if application.library:
        with contextlib.suppress(UnsupportedError):  # it cannot be built
            library = str(interposer_for(application, command))
    # The monitoring of Open MPI 4.1.4 and 5.0.11 treats every topology as Cartesian and every remote
    # group as the local one, and it ignores MPI_Pcontrol.
    barred = keeps_monitoring_out(command)
    if barred and not library:
        what = "excludes Open MPI's monitoring"
        raise UnsupportedError(f"{barred}: {what}, expected {barred},monitoring or `compiler='mpicc'`")
    return library, bool(library and (application.unfit or barred))


def _traced(folder: str, n: int, target: str, steps: int, cut: bool) -> tuple[str, list[str]]:
    """Write the trace and return its first file, "" if there is none, and the notices about it."""
    if cut:
        return "", ["there is no trace: a signal ended the program"]
    try:
        actions, notices = read_order(folder, n, steps)
    except FormatError as error:
        return "", [f"there is no trace: {error.what}"]
    path = write_trace(actions, target)
    return path, [f"trace: hopbytes simulate {path} --on MACHINE --grade replay", *notices]


def _monitored(
    folder: str, command: LaunchCommand, application: Application
) -> tuple[CommGraph, dict[str, Any]]:
    """Return the pattern that Open MPI counted, with the interposer's persistent sends, and its facts."""
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
        graph = replace(Phases.of([graph, persistent]).combined(), meta=graph.meta, phases=())
        facts["by"] += " and persistent sends by the interposer"
    return graph, facts | witnessed(seen)


def reason(
    folder: str, command: LaunchCommand, application: Application, what: str, code: int, counting: bool
) -> str:
    """Return the probable cause of an incomplete recording."""
    what = what.replace(folder, "the recording")
    if "no rank wrote" not in what and "missing" not in what:
        return f"the recording is not complete: {what}"
    suffix = "txt" if counting else "prof"
    matches = [match for name in os.listdir(folder) if (match := _FILES.fullmatch(name))]
    written = {int(match[1]) for match in matches if match[2] == suffix}
    if code == SEGMENTATION_FAULT and application.family == "openmpi" and not counting:
        return (
            "the program ended by a segmentation fault: Open MPI's monitoring crashes in neighbourhood "
            "collectives on graphs and with two groups of unequal size, expected `compiler='mpicc'`"
        )
    if not written and application.has_mpi_inside:
        inside = f"MPI is linked into {application.path} statically, expected a shared library"
        return f"no rank wrote anything: {inside}"
    assumed = ""
    if not application.linked:
        kind = "loads no MPI by itself" if application.is_binary else "is a script"
        maker = command.launcher.maker or "the MPI of the first mpicc"
        assumed = f" ({command.program[0]} {kind}: {maker} was assumed, `compiler` names another)"
    if code in REFUSED and not os.listdir(folder):
        silent = silent_end(command.launcher, command.words(), code)
        message = f"if it printed no message: {silent}" if silent else "see its message above"
        before = "or the program ended before MPI_Init"
        return f"{command.tool} did not start the program (code {code}), {message}; {before}"
    if code:
        what = what if written else f"{what}{assumed}"
        if not counting:
            what += "; the interposer (`compiler='mpicc'`) keeps what was sent before a signal"
        return f"the program ended with code {code}, and not every rank reached MPI_Finalize: {what}"
    shared = os.path.dirname(folder)
    if written:
        return f"the recording is not complete: {_lost(written, hosts_of(command), shared) or what}"
    return (
        f"no rank wrote anything{assumed}: the program uses another MPI, never reached MPI_Finalize, or "
        f"{shared} is not shared with its nodes"
    )


def _lost(written: set[int], hosts: list[str], shared: str) -> str:
    """Return which ranks are missing and on which hosts; "" if the hosts are unknown."""
    lost = [i for i in range(len(hosts)) if i not in written]
    if not lost:
        return ""

    def listed(names: list[Any]) -> str:
        return ", ".join(map(str, names[:NAMED])) + (", …" if len(names) > NAMED else "")

    on = sorted({hosts[i] for i in lost})
    what = f"{len(lost)} of {len(hosts)} ranks missing ({listed(lost)}, on {listed(on)})"
    if {hosts[i] for i in written if i < len(hosts)}.isdisjoint(on):
        return f"{what}: {shared} is not shared with {listed(on)}"
    return f"{what}: they never reached MPI_Finalize"


def hosts_of(command: LaunchCommand) -> list[str]:
    """Return the host of every rank, found by a probe with the same command; empty if the probe fails."""
    if command.others or command.launcher.form == "other":
        return []
    try:
        seen = seen_launch(command)
    except HopbytesError:
        return []
    return [seen[i].host for i in range(len(seen))] if set(seen) == set(range(len(seen))) else []


def target_of(output: str, graph: CommGraph) -> str:
    """Return the file for a pattern; that of an interrupted run does not replace an existing recording."""
    cut = graph.meta.get("recorded", {}).get("cut")
    if not cut or output == "-" or not os.path.lexists(output):
        return output
    root, suffix = os.path.splitext(output)
    return f"{root}.cut{suffix}"


def next_step(output: str, words: list[str], graph: CommGraph, launcher: str | None = None) -> list[str]:
    """Return the next command to type: map for the hosts of the command, for the job, or for this host."""
    # If the recorded processes do not fit there, the command is advise with an example of a machine that they
    # fit on, and a line before it says why.
    if output == "-":
        return []
    machine = machine_of_command(LaunchCommand.parse(words, launcher, several=True))
    in_job = any(os.environ.get(sign) for sign, _ in READERS)
    hosts = recorded_hosts(graph) or []
    if machine == "job" and not in_job:
        machine = "local" if all(same_host(host, platform.node()) for host in hosts) else "job"
    elsewhere = machine == "job" and not in_job
    obstacle = f"{hosts[0]} is not in a job that is known here" if elsewhere else _obstacle(machine, graph.n)
    if obstacle is None:
        return [f"now: hopbytes map {shlex.quote(output)} --on {shlex.quote(machine)}"]
    nodes = len(set(hosts)) if len(set(hosts)) > 1 else math.isqrt(max(graph.n - 1, 0)) + 1
    cores = max(1, -(-graph.n // nodes))
    example = f"node:{-(-graph.n // cores)} core:{cores}"
    return [
        f"--on {machine}: {obstacle}; describe the machine where the program will run, for example:",
        f"now: hopbytes advise {shlex.quote(output)} --on '{example}'",
    ]


def _obstacle(machine: str, n: int) -> str | None:
    """Return why n tasks cannot be mapped to a machine; None if they can, or if only a job will tell."""
    try:
        where = allocate(machine)
    except HopbytesError as error:
        return str(error)
    return None if n <= where.k else f"{n} processes, but {where.k} cores were found"
