"""Grids of ranks for problems of given extents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hopbytes.errors import FormatError

#: Dimensions for which all grids are compared.
MOST_DIMENSIONS = 6


def best_dims(
    ranks: int, extents: Sequence[int], periods: Sequence[bool] | None = None
) -> tuple[int, ...]:
    """Return the grid of ranks in which a stencil code sends the fewest cells between ranks.

    A cut between two ranks of a dimension is crossed by as many cells as the other extents have together. A
    dimension of d ranks has d - 1 cuts, or d if it is a ring of two ranks or more. All factorisations are
    compared, a few thousand at most for usual numbers of ranks. See mpi-forum/mpi-issues #120.

    >>> best_dims(12, (600, 100)), best_dims(12, (100, 100, 100)), best_dims(8, (10, 10), (True, False))
    ((12, 1), (3, 2, 2), (4, 2))
    """
    sizes = list(extents)
    whole = all(isinstance(size, int) and size >= 1 for size in sizes)
    if not 1 <= len(sizes) <= MOST_DIMENSIONS or not whole:
        what = f"extents {sizes!r:.60}, expected 1 to {MOST_DIMENSIONS} numbers >= 1"
        raise FormatError("create_cart", None, what)
    rings = [False] * len(sizes) if periods is None else list(periods)
    if len(rings) != len(sizes):
        raise FormatError("create_cart", None, f"{len(rings)} periods, expected {len(sizes)}")
    cells = 1
    for size in sizes:
        cells *= size

    def crossing(dims: tuple[int, ...]) -> int:
        """Return the cells that lie at cuts between ranks."""
        total = 0
        for count, size, ring in zip(dims, sizes, rings, strict=True):
            cuts = count if ring and count > 1 else count - 1
            total += cuts * (cells // size)
        return total

    fitting = [
        dims
        for dims in _factorisations(ranks, len(sizes))
        if all(count <= size for count, size in zip(dims, sizes, strict=True))
    ]
    if not fitting:
        raise FormatError("create_cart", None, f"{ranks} ranks for extents {sizes}, expected a cell for each")
    return min(fitting, key=lambda dims: (crossing(dims), [-count for count in dims]))


def face_cells(dims: Sequence[int], extents: Sequence[int]) -> list[int]:
    """Return for each dimension the cells of the face between two ranks, at least 1, rounded down.

    >>> face_cells((4, 2), (100, 60))
    [30, 25]
    """
    if len(dims) != len(extents):
        raise FormatError("create_cart", None, f"{len(extents)} extents, expected {len(dims)}")
    found = []
    for axis in range(len(dims)):
        cells = 1
        for other, (count, size) in enumerate(zip(dims, extents, strict=True)):
            cells *= 1 if other == axis else max(1, size // count)
        found.append(cells)
    return found


def _factorisations(number: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield all tuples of `parts` positive integers whose product is `number`."""
    if parts == 1:
        yield (number,)
        return
    for first in range(1, number + 1):
        if number % first == 0:
            for rest in _factorisations(number // first, parts - 1):
                yield (first, *rest)
