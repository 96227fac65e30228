"""Collectives as rounds of messages: what every member knows after them, from the definition of each call."""

from __future__ import annotations

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


def test_no_member_exchanges_with_itself():
    for kind in KINDS:
        for n in SIZES:
            blocks = [block for each in rounds(kind, [64] * n, n - 1) for block in each]
            assert all(source != target for source, target, _ in blocks)


def test_rounds_of_small_calls_are_logarithmic():
    kinds = ("bcast", "allreduce", "barrier", "scan")
    assert [len(rounds(kind, [8] * 16)) for kind in kinds] == [4, 4, 4, 15]
