"""KaFFPa and Mt-KaHyPar behind the same function as KaMinPar, where they are installed."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import grid
from hopbytes.algorithms.mappers.multisection import Multisection
from hopbytes.errors import UnsupportedError
from hopbytes_laboratory.partitioners.backends import BACKENDS, available, repeats_itself
from hopbytes_laboratory.partitioners.dispatch import unsupported_reason

WHERE = hb.allocate("node:2@10 core:4@1")


def needs(name):
    return pytest.mark.skipif(not available(name), reason=f"{name} is not installed or hidden")


EACH = [
    pytest.param("kahip:eco", marks=needs("kahip")),
    pytest.param("mtkahypar:deterministic", marks=needs("mtkahypar")),
    pytest.param("kaminpar:eco", marks=needs("kaminpar")),
]


@pytest.mark.parametrize("partitioner", EACH)
def test_alone_it_cuts_every_group_within_the_bounds(partitioner):
    method = f"multisection:repetitions=0,partitioner={partitioner}"
    loads = np.random.default_rng(1).integers(1, 5, 900)
    for graph in (grid(30), grid(30, loads=loads)):
        found = hb.map_tasks(graph, WHERE, method, threads=2, seed=4)
        assert found.info["balance"] == "met"
        assert found.info["work"][f"{partitioner.split(':')[0]}_used"] == 3
        assert found.info["work"]["arcs"] > 0
        again = hb.map_tasks(graph, WHERE, method, threads=1, seed=4)
        assert np.array_equal(found.pe, again.pe)
        assert found.info["deterministic"]
        assert found.info["comm_cost"] < hb.map_tasks(graph, WHERE, "random").info["comm_cost"] / 2


def test_settings_that_do_not_repeat_themselves_say_so(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert not Multisection(partitioner="mtkahypar:quality").deterministic
    assert Multisection(partitioner="mtkahypar:deterministic_quality").deterministic
    assert Multisection(partitioner="kahip:strong").deterministic
    assert Multisection().deterministic
    assert all(set(backend.repeatable) <= set(backend.settings) for backend in BACKENDS.values())
    assert not repeats_itself("mtkahypar", "default")


@pytest.mark.parametrize(
    ("partitioner", "what"),
    [
        ("kahypar:eco", "'kahypar'"),
        ("kahip:ecoo", "'ecoo'"),
        ("kahip", "KaFFPa setting ''"),
        ("mtkahypar:eco", "'eco'"),
    ],
)
def test_unknown_names_are_refused_with_the_known_ones(partitioner, what):
    with pytest.raises(UnsupportedError, match=mentions(*what.split())):
        hb.map_tasks(grid(4), WHERE, f"multisection:partitioner={partitioner}")


@needs("kahip")
@needs("kaminpar")
def test_pieces_with_several_threads_can_go_to_another_one():
    """SharedMap's way; two pieces of a level share two threads, so only the first cut has both."""
    method = (
        "multisection:repetitions=0,schedule=nb_layer,partitioner=kahip:fast,"
        "parallel_partitioner=kaminpar:fast"
    )
    large = grid(150)  # smaller pieces are not handed round
    serial = hb.map_tasks(large, WHERE, method, threads=1)
    assert serial.info["work"]["kahip_used"] == 3
    parallel = hb.map_tasks(large, WHERE, method, threads=2)
    assert (parallel.info["work"]["kaminpar_used"], parallel.info["work"]["kahip_used"]) == (1, 2)
    assert parallel.info["balance"] == "met"
    assert not serial.info["deterministic"]


@pytest.mark.parametrize("options", ["", "partitioner=kahip:fast,", "schedule=naive,"])
def test_a_parallel_partitioner_needs_a_serial_one_and_a_schedule(options):
    with pytest.raises(UnsupportedError, match="needs a partitioner for one thread and a schedule"):
        hb.map_tasks(grid(4), WHERE, f"multisection:{options}parallel_partitioner=mtkahypar:quality")


@pytest.mark.parametrize("name", ["kahip", "mtkahypar", "kaminpar"])
def test_a_missing_package_is_named_with_how_to_get_it(name, monkeypatch):
    monkeypatch.setenv(f"HOPBYTES_WITHOUT_{name.upper()}", "1")
    setting = next(iter(BACKENDS[name].settings))
    how = rf"is missing: pip install {name}, "
    with pytest.raises(UnsupportedError, match=how):
        hb.map_tasks(grid(4), WHERE, f"multisection:partitioner={name}:{setting}")


@needs("kahip")
def test_blocks_too_unequal_for_one_bound_go_to_the_built_in_partitioner():
    csr = grid(10).symmetric_positive()
    assert unsupported_reason(csr, None, np.array([50, 60]), "kahip") is None
    assert "the smallest" in unsupported_reason(csr, None, np.array([20, 90]), "kahip")
    where = hb.allocate("node:2@10:cap=[1,4] core:2@1")
    found = hb.map_tasks(grid(30), where, "multisection:repetitions=0,partitioner=kahip:fast")
    assert found.info["balance"] == "met"
    assert found.info["work"]["kahip_used"] == 2  # the halves of each node
