"""Options of several verbs: single ones, and groups about reading, writing and launching.

A group is a dataclass whose fields are options; it converts itself into arguments of the library.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import hopbytes as hb
from hopbytes._frozen import frozen
from hopbytes.cli.declare import BadParameter, Declared, UsageError, argument, option
from hopbytes.cli.slips import check_phases

if TYPE_CHECKING:
    from hopbytes.formats.exchange import Receipt
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping
    from hopbytes.model.phases import Phases

Maker: TypeAlias = Callable[..., Declared]
_input: Maker = partial(option, panel="Input")
_output: Maker = partial(option, panel="Output")
_problem: Maker = partial(option, panel="Problem")
_launching: Maker = partial(option, panel="Launching", rare=True)

PATTERN_HELP = (
    "Which task sends how much to which: a file (.pattern, .csv, .mtx, .graph …), a generator "
    "(stencil:16x16, ml:tp=8,pp=4,dp=8), or - for standard input."
)
PatternFile: TypeAlias = Annotated[str, argument(PATTERN_HELP, "PATTERN", values="patterns")]
PatternFiles: TypeAlias = Annotated[list[str], argument(
    f"{PATTERN_HELP} Several are the phases of one program.", "PATTERN…", values="patterns",
)]
Mappings: TypeAlias = Annotated[list[str] | None, argument(
    "Stored mappings (.json); with --on, files of any mapping format.", "[MAPPING]...", values="files",
)]
CommandWords: TypeAlias = Annotated[list[str] | None, argument(
    "The launcher with its options, and the program: mpirun -n 64 ./app", "-- LAUNCHER …", values="words",
)]
Json: TypeAlias = Annotated[bool, _output("Print one line of JSON, with exact numbers.")]
Quiet: TypeAlias = Annotated[bool, _output("Print nothing but errors.", names=("--quiet", "-q"))]
All: TypeAlias = Annotated[bool, _output("Print every metric, and compare with random mappings as well.")]
ORDER_HELP = "fill (mpirun), block (srun), cyclic, bynode, folded, socket or plane=N, with :LEVEL or without"
ComparedOrder: TypeAlias = Annotated[str | None, _output(
    f"Launcher's order to compare with: {ORDER_HELP}.",
    "ORDER", rare=True, values="orders", default="that of the launcher",
)]
OutputFile: TypeAlias = Annotated[str | None, _output(
    "File to write. Some formats write FILE and FILE.hosts or FILE.place.sh.",
    "FILE", names=("--output", "-o"), default="standard output", values="files",
)]
Picture: TypeAlias = Annotated[str | None, _output(
    "Draw it: a machine as boxes or links, a pattern as a matrix, a mapping as ranks on its machine, an "
    "evaluation as matrices, levels and links. FILE.svg, or FILE.png or FILE.pdf (these two need "
    "matplotlib).", "FILE", names=("--output", "-o"), values="files",
)]
Allowed: TypeAlias = Annotated[str | None, _launching(
    "CPUs of each node that the job may use, such as 0-15,32-47.", "CPUSET",
)]
Force: TypeAlias = Annotated[bool, _output("Overwrite a file that hopbytes did not write.")]
MappingFormat: TypeAlias = Annotated[str | None, _input(
    "Format of MAPPING if it is not recognised.",
    "FORMAT", rare=True, values="mapping formats",
)]
Compiler: TypeAlias = Annotated[str | None, option(
    "MPI compiler to build the small C program with; without it, one near the launcher or mpi4py is used "
    "where that is enough.", "MPICC", names=("--cc",), values="files",
)]


def present(**options: Any) -> dict[str, Any]:
    """Return the options that were given: those that are not None."""
    return {name: value for name, value in options.items() if value is not None}


def max_bytes() -> int:
    """Return the largest size of an input in bytes after decompression, which HOPBYTES_MAX_BYTES may set."""
    from hopbytes.text.open_input import MAX_BYTES

    text = os.environ.get("HOPBYTES_MAX_BYTES", str(MAX_BYTES))
    if not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise UsageError(f"HOPBYTES_MAX_BYTES={text[:40]}, expected an integer >= 1")
    return int(text)


@frozen
class ReadingOptions:
    """How a pattern is read."""

    input_format: Annotated[str | None, _input(
        "Format of the pattern if it is not recognised: csv, edges, metis, …",
        "FORMAT", rare=True, values="pattern formats",
    )] = None

    def read(self, path: str, threads: int | None = None) -> CommGraph:
        options: Any = {"workers": threads, "max_bytes": max_bytes()}
        graph: CommGraph = hb.read(path, self.input_format, holds="pattern", **options)
        return graph


@frozen
class TracedReadingOptions(ReadingOptions):
    """How a pattern is read, and the trace beside it."""

    trace: Annotated[str | None, _input(
        "Trace of the same recording, which shows what the program waits for; none uses no trace.",
        "PATH", rare=True, values="files", default="FILE.trace.gz beside PATTERN",
    )] = None

    def read(self, path: str, threads: int | None = None) -> CommGraph:
        from hopbytes.formats.base import WAITING

        graph = ReadingOptions.read(self, path, threads)
        meta = dict(graph.meta)
        if self.trace == "none":
            meta.pop(WAITING, None)
        elif self.trace is not None:
            from hopbytes.text.open_input import check_file

            check_file(self.trace)
            meta[WAITING] = self.trace
        return graph if meta == graph.meta else dataclasses.replace(graph, meta=meta)


def given_mapping(
    path: str, form: str | None, where: Allocation | None, graph: CommGraph | None = None
) -> Mapping:
    """Return a stored mapping, or a mapping in any readable format on the machine `where`."""
    from hopbytes.model.mapping import Mapping

    given = present(where=where, n=None if graph is None else graph.n, graph=graph)
    mapping = hb.read(path, form, holds="mapping", **given)
    if not isinstance(mapping, Mapping):
        raise unknown_machine(path)
    return mapping


def unknown_machine(path: str) -> Exception:
    """Return the error about a mapping whose file does not contain the machine."""
    from hopbytes.errors import UnsupportedError

    return UnsupportedError(f"{path}: PEs of an unknown machine, expected --on to say which")


def _standard(output: str | None) -> bool:
    return output in (None, "-")


@frozen
class WritingOptions:
    """How a file is written."""

    format: Annotated[str | None, _output(
        "Format to write: openmpi, slurm, hydra, torchrun, … ('hopbytes show formats').",
        "FORMAT", default="by the suffix of the file", values="formats",
    )] = None
    force: Force = False

    def launches(self, output: str | None) -> bool:
        """Whether the file is for a launcher, which starts processes."""
        from hopbytes.formats.recognition import format_to_write

        if _standard(output) and self.format is None:
            return False
        return bool(format_to_write(output or "-", self.format, "mapping").capabilities.launcher)

    def restricted(self, where: Allocation, launched: str | None = None) -> Allocation:
        """Return the allocation with a use of slots that the launcher can express, if the caller left it."""
        from hopbytes.formats.mappings.launchers import slots_for

        chosen = where.use.chosen or where.use.oversubscribe
        return where if chosen else where.using(**slots_for(self.format, launched))

    def check(self, output: str | None) -> None:
        """Raise an error before any work if a mapping cannot be written to `output`."""
        from hopbytes.formats.exchange import check_target

        if not _standard(output) or self.format is not None:
            check_target("-" if output is None else output, self.format, holds="mapping", force=self.force)

    def checked(self, form: str | None, output: str | None) -> WritingOptions:
        """Return these options, with the format `form` if none was given; FILE.json is a stored mapping."""
        settled = self.format is not None or form is None or (output or "").endswith(".json")
        chosen = self if settled else dataclasses.replace(self, format=form)
        chosen.check(output)
        return chosen

    def write(self, mapping: Mapping, output: str | None, **options: Any) -> Receipt:
        """Write a mapping; by default to standard output, as plain lines."""
        form = self.format or ("plain" if _standard(output) else None)
        path = "-" if output is None else output
        receipt: Receipt = hb.write(mapping, path, form, force=self.force, **options)
        return receipt


@frozen
class LaunchingOptions:
    """What the launcher does by default and which CPUs it may use."""

    launched: Annotated[str | None, _launching(
        "Format newrank: order in which ranks start: block, cyclic or a file with the PE of each.", "ORDER",
    )] = None
    allowed: Allowed = None

    def keywords(self) -> dict[str, Any]:
        """Return options of writers."""
        return present(**dataclasses.asdict(self))


@frozen
class BlockOptions:
    """Constraints under which a launcher can start ranks as the mapping says."""

    for_format: Annotated[str | None, _launching(
        "Restrict the mapping to what FORMAT can express; it is also the format of the output, except for "
        "FILE.json.", "FORMAT", names=("--for",), values="mapping formats",
    )] = None
    block: Annotated[int | None, _launching(
        "Keep blocks of N consecutive ranks on one node together.", "N", least=1,
    )] = None

    def map(self, graph: CommGraph, where: Allocation, **options: Any) -> Mapping:
        if self.for_format is None and self.block is None:
            mapping: Mapping = hb.map_tasks(graph, where, **options)
            return mapping
        from hopbytes.solve.consecutive_ranks import map_for

        return map_for(graph, where, self.for_format or "plain", block=self.block, **options)

    def choose(self, graph: CommGraph, where: Allocation, order: str | None, **options: Any) -> Mapping:
        """Map under these constraints; with the launcher's own `order` a replay of a trace chooses."""
        from hopbytes.formats.base import WAITING

        if order is None or WAITING not in graph.meta:
            return self.map(graph, where, **options)
        from hopbytes.solve.waiting import map_by_waiting

        return map_by_waiting(self.map, graph, where, order, **options)


@frozen
class PhaseOptions:
    """Several phases of a program that have one mapping."""

    phase_weights: Annotated[str | None, _problem(
        "How often, or how long, each phase runs. The phases are several PATTERNs, or those in one file.",
        "W,W,…", rare=True, default="1 each",
    )] = None
    phase_goal: Annotated[str | None, _problem(
        "Several phases: minimise the sum of weight × J, or max, the largest weight × J.", "sum|max",
        rare=True, default="sum",
    )] = None

    def check(self, patterns: list[str]) -> None:
        """Raise a usage error for a wrong goal, or for several patterns without these options."""
        if self.phase_goal not in (None, "sum", "max"):
            raise UsageError(f"--phase-goal {self.phase_goal}, expected sum or max")
        if self == PhaseOptions():
            check_phases(patterns)

    def read(
        self, paths: list[str], reading: ReadingOptions, threads: int | None
    ) -> tuple[CommGraph, Phases | None]:
        """Return the pattern of a file, or the weighted sum of several, and the phases if there are any."""
        graphs = [reading.read(path, threads) for path in paths]
        if len(paths) > 1:
            graphs = [
                dataclasses.replace(graph, meta={**graph.meta, "name": path})
                for graph, path in zip(graphs, paths, strict=True)
            ]
        if self.phase_weights is None and len(graphs) == 1 and not graphs[0].phases:
            return graphs[0], None
        from hopbytes.model.phases import Phases

        phases = Phases.of(graphs, None if self.phase_weights is None else self.phase_weights.split(","))
        whole = phases.combined()
        if len(graphs) == 1:
            notices = [*graphs[0].meta.get("notices", ()), *whole.meta.get("notices", ())]
            whole = dataclasses.replace(whole, meta={**graphs[0].meta, "notices": notices})
        return whole, phases

    def map(
        self, phases: Phases, graph: CommGraph, where: Allocation, blocks: BlockOptions, **options: Any
    ) -> Mapping:
        """Map phases, of which `graph` is the weighted sum."""
        from hopbytes.solve.map_phases import map_phases, with_report

        if self.phase_goal != "max":
            return with_report(blocks.map(graph, where, **options), phases)
        if blocks != BlockOptions():
            raise UsageError("--phase-goal max and --for or --block exclude each other")
        weights = [Fraction(weight, phases.factor) for weight in phases.weights]
        return map_phases(phases.graphs, where, weights=weights, goal="max", **options)


def command_words(words: list[str] | None) -> list[str]:
    """Return the words behind ``--``; raise a usage error if there are none."""
    if not words:
        raise UsageError("the command to launch is missing behind --, for instance: -- mpirun -n 64 ./app")
    return words


def seconds(text: str) -> float:
    """Return the seconds of a duration such as ``90``, ``90s``, ``5m`` or ``1h30m``."""
    typed, units = text.lower(), {"s": 1.0, "m": 60.0, "h": 3600.0}
    try:
        if re.fullmatch(r"(\s*[0-9.]{1,40}\s*[smh])+\s*", typed):
            parts = re.findall(r"([0-9.]{1,40})\s*(s|m|h)", typed)
            value = sum(float(number) * units[unit] for number, unit in parts)
        else:
            value = float(typed)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise BadParameter(f"{text[:40]!r}, expected seconds such as 300, or 90s, 5m, 1h")
    return value


def phase_number(text: str) -> int | str:
    """Return the number of a phase, or ``all``."""
    if text == "all" or (text.isdecimal() and 2 <= int(text[:20]) < 2**31):
        return text if text == "all" else int(text)
    raise BadParameter(f"{text[:40]!r}, expected a number from 2, or all")


def work_units(text: str) -> int:
    """Return a number of scanned edges, which may have the separators with which messages print it."""
    if re.fullmatch(r"[0-9]{1,30}|[0-9]{1,3}(,[0-9]{3})+|[0-9]{1,3}(_[0-9]{3})+", text.strip()):
        return int(text.replace(",", "").replace("_", ""))
    raise BadParameter(f"{text[:40]!r}, expected a number of scanned edges such as 60,959,284")


def factor(text: str) -> float:
    """Return a number above 0, such as 2, 0.5 or 1e-3.

    >>> factor("1e-3")
    0.001
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise BadParameter(f"{text[:40]!r}, expected a number above 0")
    return value
