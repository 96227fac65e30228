"""Reading and mapping with progress on the terminal and an immediate answer to Ctrl-C."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from hopbytes.cli.output import tell
from hopbytes.cli.signals import early_stop, prompt_end

if TYPE_CHECKING:
    from hopbytes.cli.method_options import EffortOptions
    from hopbytes.cli.options import BlockOptions, PhaseOptions, ReadingOptions
    from hopbytes.model.allocation import Allocation
    from hopbytes.model.comm_graph import CommGraph
    from hopbytes.model.mapping import Mapping


#: Maps what has been read under constraints of a launcher; with the launcher's own order, a replay of the
#: trace beside the pattern chooses, if there is one.
Mapper: TypeAlias = "Callable[[BlockOptions, Allocation, dict[str, Any], str | None], Mapping]"


@contextmanager
def watched(
    patterns: list[str], reading: ReadingOptions, effort: EffortOptions, options: PhaseOptions, *, quiet: bool
) -> Iterator[tuple[CommGraph, float, Mapper]]:
    """Read a pattern, or several phases; yield it, the seconds that this took, and what maps it.

    The progress of the block, which must not write files, is shown. With a limit, Ctrl-C requests the best
    mapping found.
    """
    from hopbytes.show.progress import expected_edges, progress_bar

    with progress_bar(quiet=quiet) as progress:

        def stopping() -> None:
            progress.stop()
            if progress.report is None and not quiet:
                tell("stopping …")

        def patient() -> bool:
            return progress.state.mapping_began is not None and effort.anytime

        def mapped(
            blocks: BlockOptions, where: Allocation, keywords: dict[str, Any], order: str | None
        ) -> Mapping:
            keywords |= effort.keywords() | {"progress": progress.report}
            anytime = effort.anytime  # known from here on without an import, which Ctrl-C might interrupt
            partition = bool(keywords.get("partition")) or graph.n >= 8 * where.k
            edges = expected_edges(graph.n, graph.m, effort.preset, partition=partition)
            progress.mapping(
                graph.n + graph.m, edges, time_limit=effort.time_limit, work_limit=effort.work_limit
            )
            with early_stop(anytime) as stop:
                keywords["limits"] = replace(keywords["limits"], stop=stop)
                if phases is None:
                    return blocks.choose(graph, where, order, **keywords)
                return options.map(phases, graph, where, blocks, **keywords)

        with prompt_end(stopping, patient):
            progress.reading(patterns[0])
            began = time.perf_counter()
            graph, phases = options.read(patterns, reading, effort.threads)
            yield graph, time.perf_counter() - began, mapped
