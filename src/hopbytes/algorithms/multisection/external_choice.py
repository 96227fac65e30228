"""Which external partitioners compete with the engine, as the options of multisection say."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from hopbytes._frozen import frozen
from hopbytes.algorithms.base import Bounds, Effort

if TYPE_CHECKING:
    from hopbytes.algorithms.multisection.external_partitions import ExternalPartitions


@frozen
class ExternalChoice:
    """The options of :class:`hopbytes.algorithms.mappers.multisection.Multisection` about them."""

    #: name and preset of the partitioners for one thread and for several; empty for KaMinPar and none
    partitioner: str
    parallel_partitioner: str
    kaminpar_preset: str  # preset of KaMinPar
    outermost: int  # number of partitions of the outermost and of every other cut, as given
    inner: int
    kaminpar_from: int  # minimum number of vertices of a group for which KaMinPar is called

    @property
    def used(self) -> bool:
        """Whether there are any."""
        return bool(self.partitioner) or max(self.outermost, self.inner) > 0

    @property
    def deterministic(self) -> bool:
        """Whether the same seed gives the same partitions."""
        if not self.used:
            return True
        from hopbytes.partitioners.backends import repeats_itself

        return not self.parallel_partitioner and repeats_itself(*self._backends()[0])

    def check(self) -> None:
        """Raise an error if a partitioner or its preset is unknown, or one that was asked for is missing."""
        if not self.used:
            return
        from hopbytes.partitioners.backends import check_backend

        for backend in self._backends():
            check_backend(*backend, required=bool(self.partitioner))

    def started(self, bounds: Bounds, effort: Effort) -> AbstractContextManager[ExternalPartitions | None]:
        """Return the partitioners for a block of code, None if there are none; they need a bound on loads."""
        if not self.used:
            return nullcontext()
        for name, _ in self._backends():
            effort.count(**{f"{name}_used": 0, f"{name}_failed": 0})
        if bounds.exact:
            return nullcontext()
        # The import is here because worker processes need modules that take time to load.
        from hopbytes.algorithms.multisection.external_partitions import ExternalPartitions

        least = 1 if self.partitioner else 0
        return ExternalPartitions(
            self._backends(), max(least, self.outermost), max(least, self.inner),
            0 if self.partitioner else self.kaminpar_from,
        )

    def _backends(self) -> list[tuple[str, str]]:
        """Return name and preset of the partitioner for one thread, then of that for several, if any."""
        if not self.partitioner:
            return [("kaminpar", self.kaminpar_preset)]
        named = [each.partition(":") for each in (self.partitioner, self.parallel_partitioner) if each]
        return [(name, setting) for name, _, setting in named]
