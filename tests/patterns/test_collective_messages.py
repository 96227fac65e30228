"""Models of collectives: what every member must have got in the end."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.errors import mentions
from hopbytes.errors import UnsupportedError
from hopbytes.patterns.collective_messages import KINDS, MODELS, ROOTED, expand

ALIKE = ("bcast", "reduce", "allreduce", "scan")  # every member gives the same number


def total(kind, model, volumes, root=0):
    return sum(m.volume for m in expand(kind, model, volumes, root))


def test_known_trees_and_rings():
    assert [tuple(m) for m in expand("bcast", "binomial", [8] * 5, 1)] == [
        (1, 2, 8, 1), (1, 3, 8, 1), (3, 4, 8, 1), (1, 0, 8, 1)
    ]
    # Blocks of the ranks below travel together: 3 carries that of 4.
    assert [tuple(m) for m in expand("gather", "binomial", [1, 2, 4, 8, 16], 1)] == [
        (2, 1, 4, 1), (3, 1, 24, 1), (4, 3, 16, 1), (0, 1, 1, 1)
    ]
    assert [tuple(m) for m in expand("reduce", "ring", [8] * 3, 0, calls=4)] == [(1, 2, 8, 4), (2, 0, 8, 4)]
    assert [tuple(m) for m in expand("allreduce", "ring", [30] * 3)] == [
        (0, 1, 40, 4), (1, 2, 40, 4), (2, 0, 40, 4)
    ]
    assert {m.volume for m in expand("allreduce", "ring", [10] * 3)} == {14}  # 13.3, rounded up
    # All blocks but the next member's own.
    assert [m.volume for m in expand("allgather", "ring", [1, 2, 4])] == [5, 3, 6]
    assert [tuple(m) for m in expand("scatter", "pairs", [1, 2, 4], 2)] == [(2, 0, 1, 1), (2, 1, 2, 1)]


@settings(deadline=None)
@given(
    kind=st.sampled_from(KINDS), model=st.sampled_from(MODELS[1:]), size=st.integers(2, 17),
    data=st.data(),
)
def test_every_model_moves_what_is_needed(kind, model, size, data):
    """Nobody talks to itself; whoever needs data is reached; sums are those of the operation."""
    number = st.integers(0, 1000)
    same = kind in ALIKE
    volumes = [data.draw(number)] * size if same else [data.draw(number) for _ in range(size)]
    volumes = [0] * size if kind == "barrier" else volumes
    root = data.draw(st.integers(0, size - 1)) if kind in ROOTED else 0
    messages = list(expand(kind, model, volumes, root))
    assert all(0 <= m.source < size and 0 <= m.target < size and m.source != m.target for m in messages)
    incoming = {i: sum(m.volume for m in messages if m.target == i) for i in range(size)}
    outgoing = {i: sum(m.volume for m in messages if m.source == i) for i in range(size)}
    if kind == "bcast":
        assert all(incoming[i] == volumes[root] for i in range(size) if i != root)
    elif kind == "reduce":
        assert all(outgoing[i] == volumes[i] for i in range(size) if i != root)
    elif kind in ("gather", "scatter"):  # blocks of others are passed on
        sign = 1 if kind == "scatter" else -1
        kept = [sign * (incoming[i] - outgoing[i]) for i in range(size)]
        assert kept == [volumes[i] - (i == root) * sum(volumes) for i in range(size)]
    elif kind == "allgather":
        assert all(incoming[i] >= sum(volumes) - volumes[i] for i in range(size))
    elif kind == "alltoall":
        assert all(outgoing[i] == (size - 1) * volumes[i] for i in range(size))
    elif kind == "allreduce":
        ring = -(-2 * (size - 1) * volumes[0] // size)
        each = {"pairs": size * (size - 1) * volumes[0], "ring": size * ring}
        assert sum(outgoing.values()) == each.get(model, 2 * (size - 1) * volumes[0])
    elif kind == "scan":
        steps = {"pairs": range(1, size), "ring": [1], "binomial": [2**bit for bit in range(5)]}[model]
        assert outgoing == {i: volumes[0] * sum(i + step < size for step in steps) for i in range(size)}
    elif kind == "reduce_scatter" and model == "pairs":
        assert all(incoming[i] == (size - 1) * volumes[i] for i in range(size))
    elif kind == "reduce_scatter" and model == "ring":
        assert all(outgoing[i] == sum(volumes) - volumes[i] for i in range(size))
    elif kind == "reduce_scatter":
        assert sum(outgoing.values()) == (size - 1) * sum(volumes) + total("scatter", model, volumes)
    if kind == "barrier":
        assert messages
        assert not any(incoming.values())


def test_one_member_sends_nothing_and_names_are_checked():
    assert list(expand("allreduce", "ring", [8])) == []
    with pytest.raises(UnsupportedError, match=mentions("'star'")):
        list(expand("bcast", "star", [1, 1]))


def test_between_two_groups():
    """Known answers: {0, 1} and {2, 3, 4}, whose first members lead."""
    scattered = sorted(tuple(m) for m in expand("reduce_scatter", "binomial", [6, 6, 4, 4, 4], first=2))
    there = [(1, 0, 12, 1), (0, 2, 12, 1), (2, 3, 4, 1), (2, 4, 4, 1)]
    back = [(3, 2, 12, 1), (4, 2, 12, 1), (2, 0, 12, 1), (0, 1, 6, 1)]
    assert scattered == sorted(there + back)
    gathered = sorted(tuple(m) for m in expand("allgather", "binomial", [3, 3, 5, 5, 5], calls=2, first=2))
    there = [(1, 0, 3, 2), (0, 2, 6, 2), (2, 3, 6, 2), (2, 4, 6, 2)]
    back = [(3, 2, 5, 2), (4, 2, 5, 2), (2, 0, 15, 2), (0, 1, 15, 2)]
    assert gathered == sorted(there + back)
    assert [tuple(m) for m in expand("reduce", "ring", [8] * 5, 1, first=2)] == [
        (3, 4, 8, 1), (4, 2, 8, 1), (2, 1, 8, 1)
    ]  # fmt: skip
    assert [m[:2] for m in expand("scatter", "ring", [8] * 5, 3, first=2)] == [(3, 0), (3, 1)]
    assert list(expand("bcast", "ignore", [8] * 5, 3, first=2)) == []


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"scan"}))
def test_pairs_between_groups_are_those_of_the_definition(kind):
    volumes = [3, 5, 7, 11, 13]
    for first in (0, 1, 2, 4, 5):
        for root in range(5):
            other = range(first, 5) if root < first else range(first)
            expected = {(i, j): volumes[i] for i in range(5) for j in range(5) if (i < first) != (j < first)}
            if kind in ("bcast", "scatter"):
                expected = {(root, j): volumes[root if kind == "bcast" else j] for j in other}
            elif kind in ("reduce", "gather"):
                expected = {(i, root): volumes[i] for i in other}
            elif kind == "reduce_scatter":
                expected = {(i, j): volumes[j] for i, j in expected}
            found = list(expand(kind, "pairs", volumes, root, 3, first=first))
            assert {(m.source, m.target): m.volume for m in found} == (expected if 0 < first < 5 else {})
            assert {m.messages for m in found} <= {3}


def test_calls_are_counted_and_bytes_are_summed_before():
    assert [m.messages for m in expand("allgather", "ring", [1, 2, 4], calls=5)] == [10] * 3
    assert [m.messages for m in expand("barrier", "ring", [0] * 4)] == [3] * 4
    assert [m.messages for m in expand("allreduce", "ring", [8] * 4)] == [6] * 4


@settings(deadline=None)
@given(
    kind=st.sampled_from(KINDS), model=st.sampled_from(MODELS),
    volumes=st.lists(st.integers(0, 100).map(lambda v: 12 * v), min_size=12, max_size=12),
)
def test_models_are_linear(kind, model, volumes):
    """Summing calls first and expanding once gives the same bytes, which readers rely on."""
    assert total(kind, model, [2 * v for v in volumes]) == 2 * total(kind, model, volumes)
