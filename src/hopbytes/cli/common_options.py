"""Options that mean the same in every verb, in groups: one dataclass per group.

A verb takes a group as one parameter; :func:`hopbytes.cli.spread.spread_options` shows typer the fields
of the group as separate options and puts them together again before the verb is called. A group turns
itself into what the library takes, and does nothing else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from hopbytes.formats.exchange import Receipt
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping

Maker: TypeAlias = Callable[..., Any]
# Defaults stand in the help texts, in brackets, because not all of them are constants.
shown: Maker = partial(typer.Option, show_default=False)
_input: Maker = partial(shown, rich_help_panel="Input")
problem: Maker = partial(shown, rich_help_panel="Problem")
_method: Maker = partial(shown, rich_help_panel="Method")
_output: Maker = partial(shown, rich_help_panel="Output")

PatternFile: TypeAlias = Annotated[
    str, typer.Argument(metavar="PATTERN", help="Who talks to whom: a pattern file, or - for stdin.")
]
Json: TypeAlias = Annotated[bool, _output("--json", help="Print one line of JSON on stdout.")]
Quiet: TypeAlias = Annotated[bool, _output("--quiet", "-q", help="Say nothing but errors.")]
All: TypeAlias = Annotated[
    bool, _output("--all", help="Print every metric, and compare with random placements as well.")
]
ComparedOrder: TypeAlias = Annotated[
    str | None,
    _output(
        "--placement",
        metavar="ORDER",
        help="Compare with this order of a launcher: fill (mpirun), block (srun), cyclic, bynode, plane=N.",
    ),
]
OutputFile: TypeAlias = Annotated[
    str | None,
    _output("--output", "-o", metavar="FILE", help="Where to write (stdout); several files take it as stem."),
]


_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds(text: str) -> float:
    """Return the seconds of a duration such as ``90``, ``90s``, ``5m`` or ``1h30m``."""
    import re

    parts = re.findall(r"([0-9.]+)\s*(s|m|h)", text.lower())
    try:
        if parts and re.fullmatch(r"(\s*[0-9.]+\s*[smh])+\s*", text.lower()):
            return sum(float(number) * _SECONDS[unit] for number, unit in parts)
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text[:40]!r}, expected seconds such as 300, or 90s, 5m, 1h") from None


@dataclass(frozen=True)
class ReadingOptions:
    """How a pattern is read."""

    input_format: Annotated[
        str | None,
        _input(
            "--input-format", metavar="FORMAT", help="Of the pattern, when its name and content do not tell."
        ),
    ] = None
    max_bytes: Annotated[
        int | None,
        _input("--max-bytes", metavar="N", min=1, help="Largest input taken, after decompression."),
    ] = None

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.convert`."""
        limit = {} if self.max_bytes is None else {"max_bytes": self.max_bytes}
        return {"input_format": self.input_format, **limit}

    def read(self, path: str) -> CommGraph:
        """Return the pattern in a file."""
        import hopbytes as hb

        keywords = self.keywords()
        graph: CommGraph = hb.read(path, keywords.pop("input_format"), holds="pattern", **keywords)
        return graph


@dataclass(frozen=True)
class SpreadOptions:
    """How many tasks go where, when each has a slot of its own."""

    oversubscribe: Annotated[bool, problem("--oversubscribe", help="Allow more processes than slots.")] = (
        False
    )
    tasks_per_node: Annotated[
        int | None,
        problem("--tasks-per-node", metavar="N", min=1, help="Exactly N tasks on every node in use."),
    ] = None
    pack: Annotated[
        bool, problem("--pack", help="Fill node after node, as mpirun does (default: the cheapest slots).")
    ] = False
    spread: Annotated[
        bool,
        problem("--spread", help="Equally many on every node, as srun does: more memory bandwidth each."),
    ] = False

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.map_tasks` and of launchers' placements."""
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class ProblemOptions:
    """Which problem is solved, and how evenly."""

    partition: Annotated[
        bool | None,
        problem(
            "--partition/--processes",
            help="Many tasks per slot within a bound, or one each. Default: one each for recorded processes "
            "and launchers, else a partition from 8 tasks per slot on.",
        ),
    ] = None
    imbalance: Annotated[
        str,
        problem(
            "--imbalance", metavar="E",
            help="Partition: no load above (1 + E) times the mean; 0.03 or 3% (0.03).",
        ),
    ] = "0.03"
    strict_balance: Annotated[
        bool, problem("--strict-balance", help="Fail where weighted tasks force a larger bound.")
    ] = False

    def keywords(self, *, launches: bool) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.map_tasks`; files for launchers are of processes."""
        return {
            "partition": False if self.partition is None and launches else self.partition,
            "imbalance": self.imbalance,
            "strict_balance": self.strict_balance,
        }


@dataclass(frozen=True)
class MethodOptions:
    """Which algorithm runs, and how hard it tries."""

    preset: Annotated[
        str | None, _method("--preset", metavar="NAME", help="See 'hopbytes list presets' (eco).")
    ] = None
    mapper: Annotated[
        str | None,
        _method(
            "--mapper", metavar="NAME[:KEY=VALUE,…]", help="Instead of a preset: 'hopbytes list mappers'."
        ),
    ] = None
    refine: Annotated[
        list[str] | None,
        _method("--refine", metavar="NAME[:KEY=VALUE,…]", help="Improve it afterwards. May be repeated."),
    ] = None
    objective: Annotated[
        str, _method("--objective", metavar="NAME", help="What is made small (comm_cost).")
    ] = "comm_cost"
    weight: Annotated[
        str, _method("--weight", metavar="WHAT", help="What an arc weighs: bytes (unsaid), messages or time.")
    ] = "bytes"
    unit_messages: Annotated[bool, _method("--unit-messages", help="Every arc weighs 1.")] = False
    seed: Annotated[int, _method("--seed", metavar="N", help="Same seed, same placement (0).")] = 0
    threads: Annotated[
        int | None,
        _method("--threads", metavar="N", min=1, help="Workers (all CPUs); the placement stays the same."),
    ] = None
    time_limit: Annotated[
        float | None,
        _method(
            "--time-limit", metavar="TIME", parser=seconds,
            help="Stop then, counted from the end of reading: seconds, or 90s, 5m, 1h.",
        ),
    ] = None
    work_limit: Annotated[
        int | None,
        _method(
            "--work-limit",
            metavar="N",
            min=0,
            help="Begin nothing more after N arcs looked at: as a time limit, but repeatable.",
        ),
    ] = None

    @property
    def anytime(self) -> bool:
        """Whether an early end is no failure: with a limit, or by the preset."""
        from hopbytes.solve.presets import presets

        limited = self.time_limit is not None or self.work_limit is not None
        return limited or (self.preset is not None and presets[self.preset]().anytime)

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.map_tasks`."""
        if self.unit_messages and self.weight != "bytes":
            raise typer.BadParameter(f"--unit-messages and --weight {self.weight} exclude each other")
        return {
            "preset": self.preset,
            "mapper": self.mapper,
            "refine": self.refine or (),
            "objective": self.objective,
            "weight": "unit" if self.unit_messages else self.weight,
            "seed": self.seed,
            "threads": self.threads,
            "time_limit": self.time_limit,
            "work_limit": self.work_limit,
        }


def _standard(output: str | None) -> bool:
    """Whether standard output is meant."""
    return output in (None, "-")


@dataclass(frozen=True)
class WritingOptions:
    """How a file is written."""

    format: Annotated[
        str | None,
        _output("--format", metavar="FORMAT", help="Of the output; unsaid: by the name of the file."),
    ] = None
    force: Annotated[bool, _output("--force", help="Overwrite a file that hopbytes did not write.")] = False

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.convert`."""
        return {"format": self.format, "force": self.force}

    def preferring(self, form: str | None, output: str | None) -> WritingOptions:
        """Return these options with another format where none was given; FILE.json is a stored mapping."""
        said = self.format is not None or form is None or (output or "").endswith(".json")
        return self if said else dataclasses.replace(self, format=form)

    def launches(self, output: str | None) -> bool:
        """Whether the file is for a launcher, which starts processes."""
        from hopbytes.formats.recognition import format_to_write

        if _standard(output) and self.format is None:
            return False
        return bool(format_to_write(output or "-", self.format, "placement").can.launcher)

    def constraints(self, options: dict[str, Any], launched: str | None = None) -> dict[str, bool]:
        """Return keywords of :func:`hopbytes.map_tasks` for the slots that the launcher can be told."""
        from hopbytes.launching.usual import said_nothing, slots_for

        return slots_for(self.format, launched) if said_nothing(options) else {}

    def check(self, output: str | None) -> None:
        """Find out before any work whether the placement can be written there."""
        from hopbytes.formats.exchange import check_target

        if not _standard(output) or self.format is not None:
            check_target("-" if output is None else output, self.format, holds="placement", force=self.force)

    def write(self, mapping: Mapping, output: str | None, **options: Any) -> Receipt:
        """Write a placement; to stdout, and then as plain lines, unless told otherwise."""
        import hopbytes as hb

        form = self.format or ("plain" if _standard(output) else None)
        path = "-" if output is None else output
        receipt: Receipt = hb.write(mapping, path, form, force=self.force, **options)
        return receipt
