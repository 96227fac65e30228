"""``hopbytes map``: map the tasks of a pattern to a machine, also graphs that one process cannot hold.

``map --stream`` reads blocks, ``map --distributed`` is an MPI job.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import hopbytes as hb
from hopbytes._frozen import frozen
from hopbytes.cli import options as opt
from hopbytes.cli.declare import UsageError, option
from hopbytes.cli.machine_options import AnyMachineOptions, SpreadOptions
from hopbytes.cli.method_options import MethodOptions, ProblemOptions
from hopbytes.cli.options import Maker, max_bytes
from hopbytes.cli.output import advice_for, judged_for, launch_lines, print_json, tell, tell_mapping, written

if TYPE_CHECKING:
    from hopbytes.cli.machine_options import MachineOptions
    from hopbytes.cli.method_options import EffortOptions
    from hopbytes.cli.options import ReadingOptions, WritingOptions
    from hopbytes.model.mapping import Mapping

_large: Maker = partial(option, panel="Method", rare=True)

#: Options of other groups that mean the same for a streamed graph, and for one over several processes.
DISTRIBUTED = {"preset", "seed", "imbalance", "strict_balance", "force"}
STREAMED = DISTRIBUTED | {"threads", "input_format", "format"}
#: The reason why an option has no meaning for such a graph, where it is not plain.
WHY = {
    "objective": "distances are summed up (comm_cost) and no loads of links are kept, so leave it out",
    "all": "other metrics need the whole graph, which eval reads",
    "compare_with": "the cost of another order needs the whole graph, which eval reads",
}


@frozen
class LargeGraphOptions:
    """Whether the pattern is streamed or spread over an MPI job, and how."""

    stream: Annotated[bool, option(
        "Read a METIS or ParHIP graph or an edge list in blocks, never the whole: for partitions of graphs "
        "that do not fit into memory.", panel="Method",
    )] = False
    passes: Annotated[int | None, _large(
        "With --stream: passes that map; all but the first improve the mapping.", "N", least=1, default="2",
    )] = None
    buffer: Annotated[int | None, _large(
        "With --stream: pairs of clusters in memory, about 250 bytes each; 0 maps every vertex at once.",
        "N", least=0, default="4194304",
    )] = None
    distributed: Annotated[bool, option(
        "Map a graph as a partition, or one task per slot, on the processes of an MPI job: mpirun -n P "
        "hopbytes map --distributed … PATTERN is a METIS, ParHIP or HDF5 file (FILE.h5:GROUP), or "
        "grid:AxB, grid:AxBxC, geometric:N; FILE is written in parallel (.npy: int32, others: one line per "
        "task).", panel="Method",
    )] = False
    strategy: Annotated[str | None, _large(
        "With --distributed: islands (cut along the outermost level first), levels (one coarse graph for "
        "all), both, or auto.", "NAME", default="auto",
    )] = None

    def wanted(self, *groups: Any, **single: Any) -> bool:
        """Return whether the graph is such a one; an error for options without a meaning."""
        if self.stream and self.distributed:
            raise UsageError("--stream and --distributed exclude each other")
        for name, needs in (("passes", "stream"), ("buffer", "stream"), ("strategy", "distributed")):
            if getattr(self, name) is not None and not getattr(self, needs):
                raise UsageError(f"--{name} needs --{needs}")
        if not (self.stream or self.distributed):
            return False
        shared = STREAMED if self.stream else DISTRIBUTED
        given = dict(single)
        for group in groups:
            for field in dataclasses.fields(group):
                value = getattr(group, field.name)
                if field.name not in shared and value != field.default and value not in ([], ()):
                    given[field.name] = value
        if given.get("partition") or self.distributed:
            given.pop("partition", None)
        for name, value in given.items():
            if value or name == "partition":
                raise self._excluded(name)
        return True

    def _excluded(self, name: str) -> UsageError:
        mode = "--stream" if self.stream else "--distributed"
        typed = {"partition": "processes", "for_format": "for"}.get(name, name.replace("_", "-"))
        why = f": {WHY[name]}" if name in WHY else ""
        return UsageError(f"{mode} and --{typed} exclude each other{why}")

    def map(
        self, paths: list[str], machine: MachineOptions, problem: ProblemOptions, effort: EffortOptions,
        reading: ReadingOptions, writing: WritingOptions, output: str | None, *, json: bool, quiet: bool,
    ) -> None:
        """Map such a graph, write the mapping and print what is known of it."""
        if len(paths) > 1:
            raise UsageError(f"unexpected extra argument ({paths[1]}): one graph is streamed or distributed")
        path = paths[0]
        if self.distributed:
            ending = {"force": writing.force, "json": json, "quiet": quiet}
            return self._map_distributed(path, machine, problem, effort, output, **ending)
        from hopbytes.cli.signals import prompt_end
        from hopbytes.model.comm_graph import CommGraph
        from hopbytes.show.progress import progress_bar
        from hopbytes.solve.map_record import map_record

        where, writing = machine.allocation(), writing.checked(None, output)
        given = opt.present(passes=self.passes, buffer=self.buffer, preset=effort.preset)
        with progress_bar(quiet=quiet) as progress, prompt_end(progress.stop, lambda: False):
            report = progress.report

            def seen(number: int, done: int, total: int) -> None:
                if report is not None:
                    report(f"pass {number}", done, total)

            mapping: Mapping = hb.map_stream(
                path, where, format=reading.input_format, imbalance=problem.imbalance,
                strict_balance=problem.strict_balance, seed=effort.seed, threads=effort.threads,
                progress=seen, max_bytes=max_bytes(), **given,
            )
        receipt = written(writing, mapping, output, {}, json=json)
        nothing: list[int] = []
        record = map_record(CommGraph.from_edges(nothing, nothing), mapping, 0.0, receipt)
        if json:
            return print_json(record)
        told = () if quiet else (*record["notices"], _stream_sentence(mapping))
        return tell(*told, slot=where.slot_word)

    def _map_distributed(
        self, path: str, machine: MachineOptions, problem: ProblemOptions, effort: EffortOptions,
        output: str | None, *, force: bool, json: bool, quiet: bool,
    ) -> None:
        from hopbytes.cli.over_ranks import run_on_all
        from hopbytes.mpi.distributed.mapping import map_file, mapped_sentence

        work = partial(
            map_file, graph=path, output=output, force=force, strategy=self.strategy or "auto",
            preset=effort.preset or "eco", imbalance=problem.imbalance, seed=effort.seed,
            strict_balance=problem.strict_balance, partition=problem.partition is not False,
        )
        record = run_on_all(work, machine.whole_or_part)
        if record is not None and json:
            print_json(record)
        elif record is not None and not quiet:
            tell(mapped_sentence(record))


def _stream_sentence(mapping: Mapping) -> str:
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


def map(
    pattern: opt.PatternFiles,
    machine: AnyMachineOptions,
    problem: ProblemOptions,
    phases: opt.PhaseOptions,
    spread: SpreadOptions,
    method: MethodOptions,
    large: LargeGraphOptions,
    reading: opt.TracedReadingOptions,
    writing: opt.WritingOptions,
    blocks: opt.BlockOptions,
    launching: opt.LaunchingOptions,
    output: opt.OutputFile = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    all: opt.All = False,
    compare_with: opt.ComparedOrder = None,
) -> None:
    """Map every task of PATTERN to the machine, verify the mapping and write it.

    The mapping goes to -o FILE, otherwise to standard output unless --json is given; a summary goes to
    standard error. With a limit or with preset best, Ctrl-C (or SIGTERM) ends the search and writes the
    best mapping found; a second one gives up.
    """
    from hopbytes.cli.watching import watched
    from hopbytes.formats.mappings.launchers import usual_order

    groups = (problem, spread, method, reading, writing, blocks, launching, phases)
    if large.wanted(*groups, all=all, compare_with=compare_with):
        return large.map(pattern, machine, problem, method, reading, writing, output, json=json, quiet=quiet)
    phases.check(pattern)
    writing = writing.checked(blocks.for_format, output)
    where = writing.restricted(machine.allocation(spread), launching.launched)
    with watched(pattern, reading, method, phases, quiet=quiet) as (graph, seconds, mapped):
        launches = writing.launches(output)
        order = None
        if method.leaves_choice() and not problem.constrained:
            order = compare_with or usual_order(writing.format, where)
        mapping = mapped(blocks, where, problem.keywords(graph, where, launches=launches), order)
    extra = {"graph": graph, "oversubscribe": spread.oversubscribe, **launching.keywords()}
    receipt, form = written(writing, mapping, output, extra, json=json), writing.format
    if quiet and not json:
        return None  # without what only the summary needs, such as the version of the installed MPI
    from hopbytes.solve.map_record import map_record

    verdict = None if quiet else judged_for(graph, mapping, form, compare_with, chance=all)
    facts = None if verdict is None else verdict.to_dict()
    record = map_record(graph, mapping, seconds, receipt, facts, form)
    advice = advice_for(receipt, form, record)
    if json:
        return print_json(record)
    return tell_mapping(graph, mapping, verdict, record["notices"], launch_lines(advice))
