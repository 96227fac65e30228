"""Options of ``map --stream``: a graph is read in blocks and never held as a whole."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from hopbytes._frozen import frozen
from hopbytes.cli.common_options import (
    Maker,
    ProblemOptions,
    ReadingOptions,
    WritingOptions,
)
from hopbytes.cli.declare import UsageError, option
from hopbytes.cli.machine_options import MachineOptions
from hopbytes.cli.method_options import MethodOptions

if TYPE_CHECKING:
    from hopbytes.formats.exchange import Receipt
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.mapping import Mapping

_stream: Maker = partial(option, panel="Method")

#: Options of other groups that mean the same for a streamed graph.
SHARED = {"preset", "seed", "threads", "imbalance", "strict_balance", "input_format", "max_bytes"}
#: The reason why an option has no meaning for a streamed graph, where it is not plain.
WHY = {
    "objective": (
        "passes over a file sum up distances (comm_cost) and keep no loads of links, so leave it out"
    ),
    "all": "other metrics need the whole graph, which eval reads",
    "compare_with": "the cost of another order needs the whole graph, which eval reads",
}


@frozen
class StreamOptions:
    """Whether the pattern is streamed, in how many passes and with which buffer."""

    stream: Annotated[
        bool,
        _stream(
            "--stream",
            help="Read a METIS or ParHIP graph or an edge list in blocks, never the whole: for partitions of "
            "graphs that do not fit into memory.",
        ),
    ] = False
    passes: Annotated[
        int | None,
        _stream(
            "--passes", metavar="N", least=1, rare=True, default="2",
            help="With --stream: passes that map; all but the first improve the mapping.",
        ),
    ] = None
    buffer: Annotated[
        int | None,
        _stream(
            "--buffer", metavar="N", least=0, rare=True, default="4194304",
            help="With --stream: pairs of clusters in memory, about 250 bytes each; 0 places every vertex at "
            "once.",
        ),
    ] = None

    def given(self, *groups: Any, **single: Any) -> bool:
        """Return whether to stream; an error for options without a meaning, in other groups or `single`."""
        if not self.stream:
            given = [name for name in ("passes", "buffer") if getattr(self, name) is not None]
            if given:
                raise UsageError(f"--{given[0]} needs --stream")
            return False
        for group in groups:
            for field in dataclasses.fields(group):
                value = getattr(group, field.name)
                unset = value == field.default or value in ([], ())
                if unset or field.name in SHARED or (field.name == "partition" and value):
                    continue
                raise _excluded("processes" if field.name == "partition" else field.name)
        for name, value in single.items():
            if value:
                raise _excluded(name)
        return True

    def run(
        self, path: str, machine: MachineOptions, problem: ProblemOptions, method: MethodOptions,
        reading: ReadingOptions, writing: WritingOptions, output: str | None, *, json: bool, quiet: bool,
    ) -> None:
        """Map a graph on disk, write the mapping and say what is known of it without the graph."""
        from hopbytes.cli.output import written

        where, writing = machine.allocation(), writing.checked(None, output)
        mapping = self.map(path, where, problem, method, reading, quiet=quiet)
        self.show(mapping, written(writing, mapping, output, {}, json=json), json=json, quiet=quiet)

    def map(
        self, path: str, where: Allocation, problem: ProblemOptions, method: MethodOptions,
        reading: ReadingOptions, *, quiet: bool,
    ) -> Mapping:
        """Map a graph on disk, showing the passes on a terminal."""
        import hopbytes as hb
        from hopbytes.cli.stopping import prompt_end
        from hopbytes.show.progress import progress_bar

        limit: dict[str, Any] = {} if reading.max_bytes is None else {"max_bytes": reading.max_bytes}
        chosen = {name: getattr(self, name) for name in ("passes", "buffer")}
        chosen |= {"preset": method.preset, "threads": method.threads}
        with progress_bar(quiet=quiet) as progress, prompt_end(progress.stop, lambda: False):
            report = progress.report

            def seen(number: int, done: int, total: int) -> None:
                if report is not None:
                    report(f"pass {number}", done, total)

            found: Mapping = hb.map_stream(
                path, where, format=reading.input_format, imbalance=problem.imbalance,
                strict_balance=problem.strict_balance, seed=method.seed, progress=seen, **limit,
                **{name: value for name, value in chosen.items() if value is not None},
            )
        return found

    def show(self, mapping: Mapping, receipt: Receipt | None, *, json: bool, quiet: bool) -> None:
        """Print what is known without the graph: J, balance and the work."""
        from hopbytes.cli.output import print_json, tell
        from hopbytes.model.comm_graph import CommGraph
        from hopbytes.show.verdict import map_record

        nothing: list[int] = []
        record = map_record(CommGraph.from_edges(nothing, nothing), mapping, 0.0, receipt)
        if json:
            print_json(record)
        elif not quiet:
            tell(*record["notices"], stream_sentence(mapping), slot=mapping.where.slot_word)


def _excluded(name: str) -> UsageError:
    typed, why = name.replace("_", "-"), WHY.get(name, "")
    return UsageError(f"--stream and --{typed} exclude each other{why and f': {why}'}")


def stream_sentence(mapping: Mapping) -> str:
    """Return the line of numbers about a streamed mapping."""
    info = mapping.info
    work, clusters = info["work"], ""
    if "clusters" in work:
        clusters = f"; {_some(work['clusters'], 'cluster')}, {_some(work['contractions'], 'contraction')}"
    tasks, passes = _some(mapping.n, "task"), work["passes"]
    slots = _some(mapping.where.k, mapping.where.slot_word)
    return (
        f"partition: J {info['comm_cost']:,} (volume x distance); {tasks} on {slots}, "
        f"at most {info['bound_kept']:,} of {info['bound_asked']:,} each; "
        f"{_some(passes, 'pass', 'passes')}{clusters}"
    )


def _some(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, in the plural where it is not 1."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
