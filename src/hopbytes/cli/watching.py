"""Reading and mapping with progress on the terminal and an immediate answer to Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hopbytes.cli.options import PhaseOptions
from hopbytes.cli.output import tell
from hopbytes.cli.signals import early_stop, prompt_end

if TYPE_CHECKING:
    from hopbytes.cli.method_options import EffortOptions
    from hopbytes.cli.options import BlockOptions, ReadingOptions
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping
    from hopbytes.model.phases import Phases
    from hopbytes.show.progress import Progress


@dataclass
class Watch:
    """A pattern that has been read, and the progress of its mapping."""

    graph: CommGraph
    phases: Phases | None  # those whose weighted sum the pattern is
    phase_options: PhaseOptions
    read_seconds: float
    effort: EffortOptions
    progress: Progress

    def map(
        self, blocks: BlockOptions, where: Allocation, options: dict[str, Any], order: str | None = None
    ) -> Mapping:
        """Map the pattern; with a limit, Ctrl-C requests the best mapping found.

        With the launcher's own `order` a replay of the trace beside the pattern chooses, if there is one.
        """
        from hopbytes.show.progress import expected_edges

        graph, effort = self.graph, self.effort
        options |= effort.keywords() | {"progress": self.progress.report}
        anytime = effort.anytime  # known from here on without an import, which Ctrl-C might interrupt
        partition = bool(options.get("partition")) or graph.n >= 8 * where.k
        edges = expected_edges(graph.n, graph.m, effort.preset, partition=partition)
        self.progress.mapping(
            graph.n + graph.m, edges, time_limit=effort.time_limit, work_limit=effort.work_limit
        )
        with early_stop(anytime) as stop:
            options["limits"] = replace(options["limits"], stop=stop)
            if self.phases is None:
                return blocks.choose(graph, where, order, **options)
            return self.phase_options.map(self.phases, graph, where, blocks, **options)


@contextmanager
def watched(
    patterns: list[str], reading: ReadingOptions, effort: EffortOptions,
    options: PhaseOptions | None = None, *, quiet: bool,
) -> Iterator[Watch]:
    """Read a pattern, or several phases, and show the progress of the block, which must not write files."""
    from hopbytes.show.progress import progress_bar

    with progress_bar(quiet=quiet) as progress:

        def stopping() -> None:
            progress.stop()
            if progress.report is None and not quiet:
                tell("stopping …")

        def patient() -> bool:
            return progress.state.mapping_began is not None and effort.anytime

        with prompt_end(stopping, patient):
            progress.reading(patterns[0])
            began = time.perf_counter()
            options = PhaseOptions() if options is None else options
            graph, phases = options.read(patterns, reading, effort.threads)
            yield Watch(graph, phases, options, time.perf_counter() - began, effort, progress)
