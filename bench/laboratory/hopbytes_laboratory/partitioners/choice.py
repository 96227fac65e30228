"""Which external partitioners compete with the engine, as the options of multisection say."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from hopbytes.algorithms.base import Bounds, Effort
from hopbytes_laboratory.partitioners.backends import check_backend, repeats_itself

if TYPE_CHECKING:
    from hopbytes.algorithms.mappers.multisection import Multisection
    from hopbytes_laboratory.partitioners.external_partitions import ExternalPartitions


class ExternalChoice:
    """What multisection asks for partitions of its groups (entry point ``hopbytes.partitioners``).

    An error is raised if a partitioner or its preset is unknown, or one that was asked for is missing.
    """

    def __init__(self, options: Multisection) -> None:
        self._options = options
        for backend in self._backends():
            check_backend(*backend, required=bool(options.partitioner))

    @property
    def deterministic(self) -> bool:
        """Whether the same seed gives the same partitions."""
        return not self._options.parallel_partitioner and repeats_itself(*self._backends()[0])

    def started(self, bounds: Bounds, effort: Effort) -> AbstractContextManager[ExternalPartitions | None]:
        """Return the partitioners for a block of code, None without a bound on loads."""
        for name, _ in self._backends():
            effort.count(**{f"{name}_used": 0, f"{name}_failed": 0})
        if bounds.exact:
            return nullcontext()
        # The import is here because worker processes need modules that take time to load.
        from hopbytes_laboratory.partitioners.external_partitions import ExternalPartitions

        options = self._options
        least = 1 if options.partitioner else 0
        return ExternalPartitions(
            self._backends(),
            max(least, options.kaminpar_partitions), max(least, options.kaminpar_inner_partitions),
            0 if options.partitioner else options.kaminpar_from,
        )  # fmt: skip

    def _backends(self) -> list[tuple[str, str]]:
        """Return name and preset of the partitioner for one thread, then of that for several, if any."""
        options = self._options
        if not options.partitioner:
            return [("kaminpar", options.kaminpar_preset)]
        named = [text.partition(":") for text in (options.partitioner, options.parallel_partitioner) if text]
        return [(name, setting) for name, _, setting in named]
