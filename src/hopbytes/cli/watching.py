"""Reading and mapping with progress on the terminal and an immediate answer to Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hopbytes.cli.common_options import ReadingOptions
from hopbytes.cli.method_options import MethodOptions
from hopbytes.cli.output import seconds_of, tell
from hopbytes.cli.stopping import early_stop, prompt_end

if TYPE_CHECKING:
    from hopbytes.cli.launching_options import BlockOptions
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping
    from hopbytes.show.progress import Progress


@dataclass
class Watch:
    """A pattern that has been read, and the progress of its mapping."""

    graph: CommGraph
    read_seconds: float
    method: MethodOptions
    progress: Progress

    def map(self, blocks: BlockOptions, where: Allocation, options: dict[str, Any]) -> Mapping:
        """Map the pattern; with a limit, Ctrl-C requests the best mapping found."""
        from hopbytes.show.progress import expected_edges

        graph, method = self.graph, self.method
        anytime = method.anytime  # known from here on without an import, which Ctrl-C might interrupt
        partition = bool(options.get("partition")) or graph.n >= 8 * where.k
        edges = expected_edges(graph.n, graph.m, method.preset, partition=partition)
        self.progress.mapping(
            graph.n + graph.m, edges, time_limit=method.time_limit, work_limit=method.work_limit
        )
        with early_stop(anytime) as stop:
            return blocks.map(graph, where, progress=self.progress.report, stop=stop, **options)


@contextmanager
def watched(
    pattern: str, reading: ReadingOptions, method: MethodOptions, *, quiet: bool
) -> Iterator[Watch]:
    """Read a pattern and show the progress of the block, which must not write files."""
    from hopbytes.show.progress import progress_bar

    with progress_bar(quiet=quiet) as progress:

        def stopping() -> None:
            progress.stop()
            if progress.report is None and not quiet:
                tell("stopping …")

        def patient() -> bool:
            return progress.state.mapping_began is not None and method.anytime

        with prompt_end(stopping, patient):
            progress.reading(pattern)
            graph, seconds = seconds_of(lambda: reading.read(pattern, method.threads))
            yield Watch(graph, seconds, method, progress)
