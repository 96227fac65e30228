"""What a rank says that it sends: everything else than bytes for ranks that exist is named."""

import numpy as np
import pytest

from hopbytes.mpi.communicators import checked_neighbours, create_dist_graph_adjacent, neighbours_sends
from hopbytes.mpi.processes import checked_sends


@pytest.mark.parametrize("sends", [
    {1: 8, 2: 0}, [0, 8, 0], np.array([0, 8, 0]), {np.int32(1): np.int64(8)}, (0, np.uint8(8), 0),
])  # fmt: skip
def test_bytes_by_rank(sends):
    assert checked_sends(sends, 0, 3) == ({1: 8}, "")


@pytest.mark.parametrize(("sends", "fault"), [
    ([1, 2], "gives 2 numbers of bytes, expected 8, one for each rank"),
    ([0] * 9, "gives 9 numbers of bytes, expected 8"),
    ({1: 2.5}, "sends 2.5 bytes to rank 1, expected a whole number"),
    (np.full(8, 2.0), "sends 2.0 bytes to rank 0, expected a whole number"),
    ({1: True}, "sends True bytes to rank 1, expected a whole number"),
    ({1: "8"}, "sends 8 bytes to rank 1, expected a whole number"),
    ({8: 1}, "sends to rank 8, expected 0..7"), ({-1: 1}, "sends to rank -1, expected"),
    ({1.5: 1}, "sends to rank 1.5, expected"), ({1: -3}, "sends -3 bytes, expected 0 to 2^63 - 1"),
    ({1: 2**63}, "expected 0 to 2^63 - 1"), (7, "'7', expected bytes by rank or a sequence of 8"),
    (None, "'None', expected bytes by rank"),
])  # fmt: skip
def test_faults(sends, fault):
    told, said = checked_sends(sends, 3, 8)
    assert told == {}
    assert said.startswith("rank 3")
    assert fault in said


@pytest.fixture
def mpi():
    """mpi4py's constants without MPI_Init, which ends a process that no MPI can start in."""
    package = pytest.importorskip("mpi4py")
    before, package.rc.initialize = package.rc.initialize, False
    try:
        from mpi4py import MPI
    finally:
        package.rc.initialize = before
    return MPI


def test_neighbours(mpi):
    assert checked_neighbours([1], (2, 2), None, None) == (([1], [2, 2], None, None), "")
    assert neighbours_sends(([1], [2, 2], None, None)) == {2: 2}
    assert neighbours_sends(([1], [2, 2], None, [5, 7])) == {2: 12}
    assert checked_neighbours([1], [2], mpi.UNWEIGHTED, mpi.UNWEIGHTED) == (([1], [2], None, None), "")
    assert checked_neighbours([], [2], mpi.WEIGHTS_EMPTY, [3]) == (([], [2], [], [3]), "")
    for given, fault in [
        (([1], [2], None, mpi.WEIGHTS_EMPTY), "destweights: WEIGHTS_EMPTY for 1 neighbours, expected 1"),
        (([1], [2], [1, 2], None), "sourceweights: 2 numbers, expected 1"),
        (([1], [2], None, [2.5]), r"destweights: [2.5], expected whole numbers"),
        (([1], [2], None, 77), "destweights: 77, expected whole numbers"),
        (([1.5], [2], None, None), "neighbours that are not ranks"),
    ]:
        assert fault in checked_neighbours(*given)[1]


class Adjacent:
    """Keeps what an MPI would be told."""

    def Create_dist_graph_adjacent(self, *ends, **more):  # noqa: N802
        return ends, more


@pytest.mark.parametrize(("weights", "told"), [
    ((None, None), {}), (([3], [5, 7]), {"sourceweights": [3], "destweights": [5, 7]}),
    ((None, [5, 7]), {"sourceweights": None, "destweights": [5, 7]}),
    (([3], None), {"sourceweights": [3], "destweights": None}),
])  # fmt: skip
def test_weights_of_neighbours_are_handed_on(mpi, weights, told):
    made = create_dist_graph_adjacent(Adjacent(), [1], [2, 2], *weights, reorder=False)
    assert made == (([1], [2, 2]), {"reorder": False, **told})
