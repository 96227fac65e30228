"""Collectives as rounds of messages: what every member knows after them, from the definition of each call."""

import pytest

from hopbytes.patterns.collective_messages import KINDS
from hopbytes.patterns.collective_rounds import rounds

SIZES = (1, 2, 3, 5, 8, 13)


def known_after(together, n):
    """Return whose data each member may have: a message carries all that its source had before the round."""
    known = [{own} for own in range(n)]
    for each in together:
        before = [set(have) for have in known]
        for source, target, _ in each:
            known[target] |= before[source]
    return known


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("volume", [0, 8, 100_000])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_data_reach_those_who_need_them(kind, n, volume):
    root = n // 2 if kind in ("bcast", "reduce", "gather", "scatter") else 0
    known = known_after(rounds(kind, [volume] * n, root), n)
    everyone = set(range(n))
    for own, have in enumerate(known):
        needs = everyone
        if kind in ("bcast", "scatter"):
            needs = {root}
        elif kind in ("reduce", "gather"):
            needs = everyone if own == root else set()
        elif kind == "scan":
            needs = set(range(own))
        assert needs <= have | {own}


def test_every_member_sends_and_gets_its_own_bytes():
    """Members with different volumes, below and above the sizes from which calls proceed otherwise."""
    for n in SIZES[1:]:
        for unit in (1, 1000):
            volumes, root, logs = [unit * (n + 3 * own) for own in range(n)], n // 2, (n - 1).bit_length()
            whole, most, large = sum(volumes), max(volumes), unit > 1
            expected = {
                "bcast": (logs, None, [volumes[root] * (own != root) for own in range(n)]),
                "reduce": (logs, [most * (own != root) for own in range(n)], None),
                "allgather": (
                    n - 1 if whole >= 50_000 else logs, None, [whole - volume for volume in volumes]
                ),
                "reduce_scatter": (n - 1, [whole - volume for volume in volumes], None),
                "alltoall": (n - 1 if large else 1, [(n - 1) * volume for volume in volumes], None),
                "scan": (n - 1, [*volumes[:-1], 0], [0, *volumes[:-1]]),
                "barrier": (logs, [0] * n, [0] * n),
                "gather": (1 if large else logs, None, None), "scatter": (1 if large else logs, None, None),
            }
            for kind, (count, sends, gets) in expected.items():
                made = rounds(kind, volumes, root)
                sent, got = [0] * n, [0] * n
                for source, target, volume in (block for each in made for block in each):
                    sent[source] += volume
                    got[target] += volume
                assert len(made) == count, (kind, n)
                assert sends in (None, sent), (kind, n)
                assert gets in (None, got), (kind, n)
                if kind in ("gather", "scatter"):  # blocks of others are passed on
                    inward = [a - b for a, b in zip(got, sent, strict=True)]
                    sign = 1 if kind == "scatter" else -1
                    assert inward == [
                        sign * (volume - whole * (own == root)) for own, volume in enumerate(volumes)
                    ]


@pytest.mark.parametrize(("kind", "limit", "below", "there"), [
    ("gather", 1024, [2, 1], [3]), ("scatter", 1024, [1, 2], [3]),
    ("alltoall", 3000, [12], [4, 4, 4]), ("allgather", 12_500, [4, 4], [4, 4, 4]),
    ("allreduce", 10_000, [4, 4], [4] * 6),
])  # fmt: skip
def test_sizes_from_which_calls_proceed_otherwise(kind, limit, below, there):
    """Messages of every round among four members that all have the same number of bytes."""
    counted = [[len(each) for each in rounds(kind, [volume] * 4)] for volume in (limit - 1, limit)]
    assert counted == [below, there]


def test_an_allreduce_of_members_that_are_no_power_of_two():
    """Six members: two join others, four exchange, and two are told."""
    made = rounds("allreduce", [8, 8, 8, 9, 8, 8])
    assert made[0] == [(4, 0, 9), (5, 1, 9)]
    assert sorted(made[1]) == [(0, 1, 9), (1, 0, 9), (2, 3, 9), (3, 2, 9)]
    assert sorted(made[2]) == [(0, 2, 9), (1, 3, 9), (2, 0, 9), (3, 1, 9)]
    assert made[3] == [(0, 4, 9), (1, 5, 9)]
    assert {block[2] for each in rounds("allreduce", [10_000] * 3) for block in each} == {3334}


def test_no_member_exchanges_with_itself():
    for kind in KINDS:
        for n in SIZES:
            blocks = [block for each in rounds(kind, [64] * n, n - 1) for block in each]
            assert all(source != target for source, target, _ in blocks)


def test_rounds_of_small_calls_are_logarithmic():
    kinds = ("bcast", "allreduce", "barrier", "scan")
    assert [len(rounds(kind, [8] * 16)) for kind in kinds] == [4, 4, 4, 15]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("volume", [8, 5000])
def test_every_block_is_sent_as_often_as_it_has_to_be(n, volume):
    """A gather brings n - 1 blocks to the root, an allgather all blocks but its own to every member."""
    gathered = rounds("gather", [volume] * n, 1 % n)
    assert sum(size for each in gathered for _, target, size in each if target == 1 % n) == (n - 1) * volume
    blocks = [block for each in rounds("allgather", [volume] * n) for block in each]
    assert [sum(size for _, target, size in blocks if target == own) for own in range(n)] == (
        [(n - 1) * volume] * n
    )
