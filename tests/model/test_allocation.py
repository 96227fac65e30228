"""Allocations: their arrays, parts of them, and what is known about the cores and GPUs of a PE."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions

WHERE = hb.allocate("node:3@10 package:2@5 core:[2,4,3,1,2,2]@1", cores_per_task=1)


@pytest.mark.parametrize(
    ("arrays", "facts"),
    [
        ({"core_start": [1, 2]}, "core_start 3"), ({"core_start": [0, 2, 2, 3]}, "core_start"),
        ({"core_start": [0, 2]}, "0 3"), ({"cores": [0, 1, 14]}, "14 0..13"),
        ({"cores": [-1, 1, 2]}, "-1 0..13"), ({"capacity": [1, 2]}, "capacity 2 3"),
        ({"endpoints": [1]}, "endpoints 1 3"), ({"gpus": [0, 1, 2, 3]}, "gpus 4 3"),
    ],
)
def test_arrays_that_contradict_each_other(arrays, facts):
    given = {"core_start": [0, 1, 2, 3], "cores": [0, 1, 13]} | arrays
    kinds = {"endpoints": np.int32, "gpus": np.int32}
    with pytest.raises(hb.FormatError, match=mentions(*facts.split())):
        hb.Allocation(
            WHERE.machine, **{name: np.array(each, kinds.get(name, np.int64)) for name, each in given.items()}
        )
    with pytest.raises(hb.InfeasibleError, match="slot"):
        hb.Allocation(WHERE.machine, np.zeros(1, np.int64), np.zeros(0, np.int64))


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_an_allocation_keep_what_each_pe_has(seed):
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(rng.integers(1, 4, 4))])
    cores = np.sort(rng.choice(14, starts[-1], replace=False))
    gpus = rng.integers(-1, 2, 4).astype(np.int32)
    where = hb.Allocation(
        WHERE.machine, starts, cores, ("a", "b", "c"), rng.integers(1, 9, 4), np.arange(4, dtype=np.int32),
        gpus, ("a notice",), np.array([1, 2, 3]),
    )
    pes = np.sort(rng.choice(4, 2, replace=False))
    part = where.select(pes)
    assert (part.k, part.hosts, part.notices) == (2, where.hosts, where.notices)
    assert part.tasks_of_nodes.tolist() == [1, 2, 3]
    for place, pe in enumerate(pes.tolist()):
        own = cores[starts[pe] : starts[pe + 1]]
        assert part.cores_of(place).tolist() == where.cores_of(pe).tolist() == own.tolist()
        assert part.gpus_of(place) == where.gpus_of(pe) == ((int(gpus[pe]),) if gpus[pe] >= 0 else ())
        assert part.node_of_pe[place] == where.machine.node_of_core()[own[0]]
    assert part.capacity.tolist() == where.capacity[pes].tolist()
    assert part.endpoints.tolist() == pes.tolist()


@pytest.mark.parametrize(
    ("spec", "options", "word", "cores", "gpus"),
    [
        ("node:2 gpu:4", {}, "GPU", False, (1,)), ("node:2 core:4", {}, "core", True, ()),
        ("node:2 core:4", {"cores_per_task": 2}, "slot", True, ()),
        ("node:2 core:2 pu:2", {}, "slot", True, ()),
        ("node:2 gpu:4 core:8", {"per": "gpu"}, "GPU", True, (1,)),
        ("node:2 package:2 gpu:2", {"per": "package"}, "GPU", False, (2, 3)),
    ],
)  # fmt: skip
def test_what_a_slot_is(spec, options, word, cores, gpus):
    where = hb.allocate(spec, **options)
    assert (where.slot_word, where.has_cores, where.gpus_of(1)) == (word, cores, gpus)
    assert where.shown_gpus(1) == tuple(map(str, gpus))
    assert where.known_gpus(1) == ()


def test_what_is_unknown_and_how_slots_are_used():
    assert WHERE.os_pus(0) is None
    assert WHERE.using() is WHERE
    assert not WHERE.use.counted
    uses = ({"tasks_per_node": 2}, True), ({"tasks_per": "node=2"}, True), ({"pack": True}, False)
    for use, counted in uses:
        assert WHERE.using(**use).use.chosen
        assert WHERE.using(**use).use.counted == counted
    table = WHERE._repr_html_()
    assert "4 to 6" in table
    assert "<td>3</td>" in table


def test_groups_and_parts_are_those_of_the_tree():
    """Cores of the six packages: 0-1, 2-5, 6-8, 9, 10-11, 12-13."""
    where = WHERE.select(np.array([0, 1, 3, 6, 7, 8, 9, 12]))
    nodes = [0, 0, 0, 1, 1, 1, 1, 2]
    assert [each.tolist() for each in where.groups()] == [nodes, [0, 0, 1, 2, 2, 2, 3, 4], list(range(8))]
    assert [part.tolist() for part in where.split(np.arange(8))] == [[0, 1, 2], [3, 4, 5, 6], [7]]
    assert [part.tolist() for part in where.split(np.array([0, 2]))] == [[0], [2]]
