"""Grids of ranks: the fewest cells between ranks, compared with counting them one by one."""

from __future__ import annotations

from itertools import product

import pytest

from hopbytes.errors import FormatError
from hopbytes.mpi.communicators import best_dims, create_cart, face_cells, grid_neighbours


def cells_between(dims, extents, rings):
    """Count the pairs of neighbouring cells on different ranks, for extents that the grid divides."""
    total = 0
    for cell in product(*map(range, extents)):
        for axis, (size, count, ring) in enumerate(zip(extents, dims, rings, strict=True)):
            other = cell[axis] + 1
            if other == size and not ring:
                continue
            block = size // count
            total += cell[axis] // block != other % size // block
    return total


@pytest.mark.parametrize(
    ("ranks", "extents", "rings"),
    [
        (8, (8, 8), (False, False)), (8, (8, 8), (True, False)), (8, (8, 4, 8), (False, True, False)),
        (12, (24, 12), (True, True)), (6, (6, 12), (False, False)), (4, (4, 16), (False, True)),
    ],
)  # fmt: skip
def test_no_grid_sends_fewer_cells(ranks, extents, rings):
    chosen = best_dims(ranks, extents, rings)
    grids = [
        dims for dims in product(range(1, ranks + 1), repeat=len(extents))
        if _product(dims) == ranks and all(e % d == 0 for e, d in zip(extents, dims, strict=True))
    ]  # fmt: skip
    assert chosen in grids
    assert cells_between(chosen, extents, rings) == min(cells_between(dims, extents, rings) for dims in grids)


def _product(numbers):
    total = 1
    for number in numbers:
        total *= number
    return total


class OneProcess:
    """What create_cart asks of a communicator before it uses MPI."""

    def Get_size(self):  # noqa: N802, the name in mpi4py
        return 8

    def Create_cart(self, dims, periods, reorder):  # noqa: N802
        return dims, periods, reorder


def test_create_cart_chooses_dimensions():
    made = create_cart(OneProcess(), "auto", reorder=False, extents=(400, 100))
    assert made == ([8, 1], [False, False], False)
    for dims in ("auto", "best"):
        with pytest.raises(FormatError, match="expected numbers, or 'auto'"):
            create_cart(OneProcess(), dims, extents=None if dims == "auto" else (4, 4))


def test_faces_are_weights_of_directions():
    assert grid_neighbours(0, (2, 3), (False, True), face_cells((2, 3), (20, 30))) == {3: 10, 1: 10, 2: 10}
    assert grid_neighbours(0, (2, 2), (False, False), face_cells((2, 2), (20, 60))) == {2: 30, 1: 10}
    with pytest.raises(FormatError, match="1 extents"):
        face_cells((2, 2), (4,))


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ((8, ()), "1 to 6"), ((8, (4, 0)), "numbers >= 1"), ((8, (4, "x")), "numbers"),
        ((8, (2, 2)), "a cell"), ((8, (8, 8), (True,)), "1 periods"), ((8, (2.5, 8)), "numbers"),
    ],
)
def test_bad_extents_are_one_line(arguments, word):
    with pytest.raises(FormatError) as caught:
        best_dims(*arguments)
    assert word in str(caught.value)
    assert "\n" not in str(caught.value)
