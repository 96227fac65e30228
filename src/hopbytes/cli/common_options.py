"""Options that mean the same in every verb, in groups: one dataclass per group.

A verb takes a group as one parameter; :func:`hopbytes.cli.spread.spread_options` makes separate options of
the fields of the group and puts them together again before the verb is called. A group
only converts itself into arguments of the library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from hopbytes._frozen import frozen
from hopbytes.cli.declare import Declared, UsageError, argument, option

if TYPE_CHECKING:
    from hopbytes.formats.exchange import Receipt
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping

Maker: TypeAlias = Callable[..., Declared]
_input: Maker = partial(option, panel="Input")
problem: Maker = partial(option, panel="Problem")
_output: Maker = partial(option, panel="Output")

PatternFile: TypeAlias = Annotated[
    str,
    argument(
        metavar="PATTERN",
        help="Which task sends how much to which: a file (.pattern, .csv, .mtx, .graph …), a generator "
        "(stencil:16x16, ml:tp=8,pp=4,dp=8), or - for standard input.",
        values="patterns",
    ),
]
Json: TypeAlias = Annotated[bool, _output("--json", help="Print one line of JSON, with exact numbers.")]
Quiet: TypeAlias = Annotated[bool, _output("--quiet", "-q", help="Print nothing but errors.")]
All: TypeAlias = Annotated[
    bool, _output("--all", help="Print every metric, and compare with random mappings as well.")
]
ORDER_HELP = "fill (mpirun), block (srun), cyclic, bynode, socket or plane=N"
ComparedOrder: TypeAlias = Annotated[
    str | None,
    _output(
        "--compare-with", metavar="ORDER", rare=True, old=("--placement",), values="orders",
        help=f"Launcher's order to compare with: {ORDER_HELP}.", default="that of the launcher of --format",
    ),
]
OutputFile: TypeAlias = Annotated[
    str | None,
    _output(
        "--output", "-o", metavar="FILE", default="standard output", values="files",
        help="File to write. Some formats write FILE and FILE.hosts or FILE.place.sh.",
    ),
]
FORCE_HELP = "Overwrite a file that hopbytes did not write."
Force: TypeAlias = Annotated[bool, _output("--force", help=FORCE_HELP)]
#: The output file of verbs that ask the nodes of a machine.
MachineFile: TypeAlias = Annotated[
    str,
    _output(
        "--output", "-o", metavar="FILE", default="standard output", values="files",
        help="File to write; other verbs take it as --on FILE.",
    ),
]
MappingFormat: TypeAlias = Annotated[
    str | None,
    _input(
        "--mapping-format", metavar="FORMAT", rare=True, values="mapping formats",
        help="Format of MAPPING if it is not recognised.",
    ),
]


@frozen
class ReadingOptions:
    """How a pattern is read."""

    input_format: Annotated[
        str | None,
        _input(
            "--input-format", metavar="FORMAT", rare=True, values="pattern formats",
            help="Format of the pattern if it is not recognised: csv, edges, metis, …",
        ),
    ] = None
    max_bytes: Annotated[
        int | None,
        _input(
            "--max-bytes", metavar="N", least=1, rare=True,
            help="Largest input that is read, in bytes after decompression.",
        ),
    ] = None

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.convert`."""
        limit = {} if self.max_bytes is None else {"max_bytes": self.max_bytes}
        return {"input_format": self.input_format, **limit}

    def read(self, path: str, threads: int | None = None) -> CommGraph:
        """Return the pattern in a file."""
        import hopbytes as hb

        keywords = self.keywords()
        form = keywords.pop("input_format")
        graph: CommGraph = hb.read(path, form, holds="pattern", workers=threads, **keywords)
        return graph


@frozen
class SpreadOptions:
    """How processes are distributed over slots and nodes."""

    oversubscribe: Annotated[bool, problem("--oversubscribe", help="Allow more processes than slots.")] = (
        False
    )
    tasks_per_node: Annotated[
        int | None,
        problem(
            "--tasks-per-node", metavar="N", least=1, help="Put exactly N tasks on every node in use.",
        ),
    ] = None
    pack: Annotated[
        bool,
        problem(
            "--pack", help="Fill node after node, as mpirun does. Without this and --spread, the slots with "
            "the lowest cost are used.",
        ),
    ] = False
    spread: Annotated[
        bool,
        problem(
            "--spread", help="Put equally many tasks on every node, as srun does; each task gets more memory "
            "bandwidth.",
        ),
    ] = False

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.allocate`."""
        if self.pack and self.spread:
            raise UsageError("--pack and --spread exclude each other")
        return dataclasses.asdict(self)


@frozen
class ProblemOptions:
    """The problem that is solved, and its imbalance bound."""

    partition: Annotated[
        bool | None,
        problem(
            "--partition/--processes",
            help="Partition (many tasks per slot, balanced) or processes (one per slot).",
            default="processes for recorded patterns and launch formats; else partition if tasks ≥ 8 × slots",
        ),
    ] = None
    imbalance: Annotated[
        str,
        problem(
            "--imbalance", metavar="E",
            help="Partition: no slot gets more than 1 + E times the mean load; 0.03 or 3%.",
        ),
    ] = "0.03"
    strict_balance: Annotated[
        bool,
        problem(
            "--strict-balance", rare=True,
            help="Stop with an error if the loads of single tasks require a larger bound.",
        ),
    ] = False

    def keywords(self, *, launches: bool) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.map_tasks`; files for launchers are of processes."""
        return {
            "partition": False if self.partition is None and launches else self.partition,
            "imbalance": self.imbalance,
        }


def _standard(output: str | None) -> bool:
    """Return whether `output` is standard output."""
    return output in (None, "-")


@frozen
class WritingOptions:
    """How a file is written."""

    format: Annotated[
        str | None,
        _output(
            "--format", metavar="FORMAT", default="by the suffix of the file", values="formats",
            help="Format to write: openmpi, slurm, hydra, torchrun, … ('hopbytes list formats').",
        ),
    ] = None
    force: Annotated[bool, _output("--force", help=FORCE_HELP, rare=True)] = False

    def keywords(self) -> dict[str, Any]:
        """Return keywords of :func:`hopbytes.convert`."""
        return {"format": self.format, "force": self.force}

    def preferring(self, form: str | None, output: str | None) -> WritingOptions:
        """Return these options with another format if none was given; FILE.json is a stored mapping."""
        settled = self.format is not None or form is None or (output or "").endswith(".json")
        return self if settled else dataclasses.replace(self, format=form)

    def launches(self, output: str | None) -> bool:
        """Whether the file is for a launcher, which starts processes."""
        from hopbytes.formats.recognition import format_to_write

        if _standard(output) and self.format is None:
            return False
        return bool(format_to_write(output or "-", self.format, "mapping").capabilities.launcher)

    def restricted(self, where: Allocation, launched: str | None = None) -> Allocation:
        """Return the allocation with a use of slots that the launcher can express, if the caller left it."""
        from hopbytes.launch.usual import slots_for, slots_unspecified

        return where.using(**slots_for(self.format, launched)) if slots_unspecified(where.use) else where

    def check(self, output: str | None) -> None:
        """Raise an error before any work if a mapping cannot be written to `output`."""
        from hopbytes.formats.exchange import check_target

        if not _standard(output) or self.format is not None:
            check_target("-" if output is None else output, self.format, holds="mapping", force=self.force)

    def checked(self, form: str | None, output: str | None) -> WritingOptions:
        """Return :meth:`preferring`, after :meth:`check`."""
        chosen = self.preferring(form, output)
        chosen.check(output)
        return chosen

    def write(self, mapping: Mapping, output: str | None, **options: Any) -> Receipt:
        """Write a mapping; by default to standard output, as plain lines."""
        import hopbytes as hb

        form = self.format or ("plain" if _standard(output) else None)
        path = "-" if output is None else output
        receipt: Receipt = hb.write(mapping, path, form, force=self.force, **options)
        return receipt
