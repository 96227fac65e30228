"""map_tasks: which problem is solved, what each PE holds, and what is refused."""

import json
import time

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.algorithms.base import Mapper, Refiner
from hopbytes.errors import InfeasibleError, ScaleError, UnsupportedError
from hopbytes.machines.base import Level
from hopbytes.machines.tree import Tree
from hopbytes.solve.map_tasks import map_tasks


def cluster(nodes=16, cores=4):
    return hb.Allocation.whole(Tree((Level("node", 10), Level("core", 1)), (nodes, cores)))


def chain_of(n, loads=None):
    return hb.CommGraph.from_edges(np.arange(n - 1), np.arange(1, n), n=n, loads=loads)


def test_between_k_and_eight_k_nothing_is_guessed():
    for n, partition in ((511, None), (65, False)):
        with pytest.raises(InfeasibleError, match=mentions(str(n), "64")):
            map_tasks(chain_of(n), cluster(), "identity", partition=partition)
    assert map_tasks(chain_of(512), cluster(), "identity").info["problem"] == "partition"
    assert map_tasks(chain_of(64), cluster(), "identity").info["problem"] == "processes"


def test_oversubscription_gives_floor_or_ceil_even_with_loads():
    loads = np.arange(150)
    mapping = map_tasks(chain_of(150, loads), hb.allocate(cluster(), oversubscribe=True), "random")
    assert set(mapping.tasks_per_pe().tolist()) == {2, 3}
    assert mapping.info["problem"] == "processes"


def test_loads_that_cannot_be_balanced_are_said_to_be_relaxed():
    """Loads of 5, 5, 5, 2 on two PEs: asked 9 (the even share, rounded up), kept 10; likewise three times."""
    two = hb.Allocation.whole(Tree((Level("core", 1),), (2,)))
    for times in (1, 3):
        graph = chain_of(4, [5 * times, 5 * times, 5 * times, 2 * times])
        info = map_tasks(graph, two, "identity", partition=True).info
        found = info["balance"], info["bound_asked"], info["bound_kept"]
        assert found == ("relaxed", 9 * times, 10 * times)
        what = f"the loads could not be kept within {9 * times} per PE: PE 0 holds {10 * times}"
        assert info["notices"] == [what]
    with pytest.raises(InfeasibleError, match="within 27 per PE"):
        map_tasks(graph, two, "identity", partition=True, constraints=hb.Constraints(strict=True))


@pytest.mark.parametrize("preset", ["fast", "eco"])
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize(
    "loads", [np.ones(65, np.int64), np.arange(65) % 4, np.repeat([40, 1], [1, 64])],
    ids=["equal", "unequal", "heavy"],
)
def test_a_factor_of_all_loads_changes_no_answer(loads, large, preset):
    """Loads of 7 each made balance "relaxed" where loads of 1 each made it "met"."""
    where = cluster(4)
    if large:
        where = hb.Allocation(
            where.machine, where.core_start, where.cores, capacity=np.tile(np.array([1, 3]), 8)
        )
    plain = map_tasks(chain_of(65, loads), where, preset, partition=True)
    for times in (7, 10**6):
        larger = map_tasks(chain_of(65, loads * times), where, preset, partition=True)
        assert np.array_equal(larger.pe, plain.pe)
        for name in ("balance", "imbalance", "comm_cost"):
            assert larger.info[name] == plain.info[name]
        for name in ("bound_asked", "bound_kept"):
            assert larger.info[name] == plain.info[name] * times
    if loads.max() == 1:
        assert plain.info["balance"] == "met"


def test_tasks_fixed_to_a_pe_are_refused_in_the_loads_of_the_caller():
    message = "fixed to PE 0 sum to 140, but it may carry 35"
    with pytest.raises(InfeasibleError, match=message):
        map_tasks(
            chain_of(65, np.full(65, 7)), cluster(4), partition=True,
            constraints=hb.Constraints(fixed=dict.fromkeys(range(20), 0))
        )


def test_all_zero_loads_count_as_one_each():
    mapping = map_tasks(chain_of(640, np.zeros(640)), cluster(), "random", partition=True)
    assert set(mapping.tasks_per_pe().tolist()) == {10}


@pytest.mark.parametrize("loads", [None, np.arange(1, 601)])
@pytest.mark.parametrize("mapper", ["identity", "random"])
def test_larger_pes_hold_more(mapper, loads):
    """Every other PE has three times the capacity, and each keeps to its own share of the load."""
    plain = cluster(4).machine
    capacity = np.tile(np.array([1, 3]), 8)
    whole = hb.Allocation.whole(plain)
    where = hb.Allocation(plain, whole.core_start, whole.cores, capacity=capacity)
    mapping = map_tasks(chain_of(600, loads), where, mapper, partition=True, seed=4)
    held = np.bincount(mapping.pe, weights=loads, minlength=16)
    total = 600 if loads is None else int(loads.sum())
    assert np.all(held <= np.ceil(1.03 * total * capacity / capacity.sum()))
    assert mapping.info["balance"] == "met"


@pytest.mark.parametrize("preset", ["turbo", "fast", "eco"])
def test_a_pe_of_little_capacity_is_not_left_empty(preset):
    """The other PEs could hold all tasks within the bound; a mapping that leaves one empty is still wrong."""
    loads = np.array(
        [389, 712, 291, 639, 597, 487, 135, 88, 75, 469, 261,
         160, 341, 158, 12, 970, 806, 354, 791, 84, 559, 709]
    )
    ring = np.arange(len(loads))
    graph = hb.CommGraph.from_edges(ring, np.roll(ring, 1), np.full(len(loads), 9), loads=loads)
    whole = hb.allocate("core:4@2")
    capacity = np.array([2, 47, 32, 44])
    where = hb.Allocation(whole.machine, whole.core_start, whole.cores, capacity=capacity)
    mapping = hb.map_tasks(graph, where, preset, partition=True)
    assert np.bincount(mapping.pe, minlength=4).min() > 0
    assert mapping.info["balance"] == "met"


def test_no_tasks_give_an_empty_mapping():
    mapping = map_tasks(hb.CommGraph.from_edges([], [], n=0), cluster(), "random")
    assert mapping.pe.shape == (0,)
    assert mapping.info["comm_cost"] == 0


def test_the_weight_decides_what_is_counted():
    graph = hb.CommGraph.from_edges([0], [1], [7], [3], n=2)
    two = hb.Allocation.whole(Tree((Level("core", 2),), (2,)))
    costs = {weight: map_tasks(graph, two, "identity", weight=weight).info["comm_cost"]
             for weight in ("bytes", "messages", "unit")}
    assert costs == {"bytes": 14, "messages": 6, "unit": 2}


class Crowding(Mapper):
    def map(self, graph, where, bounds, effort):
        return np.zeros(graph.n, np.int32)


def test_a_mapper_that_ignores_the_bound_is_repaired():
    mapping = map_tasks(chain_of(640), cluster(), Crowding(), partition=True)
    assert mapping.tasks_per_pe().max() <= 10
    assert mapping.tasks_per_pe().min() >= 1
    assert mapping.info["work"]["repair_moves"] == 630


class Reversed(Refiner):
    """Not an improvement, but visible."""

    def refine(self, graph, where, pe, bounds, effort):
        return (where.k - 1 - pe).astype(np.int32)


class Careless(Refiner):
    def refine(self, graph, where, pe, bounds, effort):
        return np.zeros_like(pe)


def test_refiners_run_after_the_mapper_in_order_and_are_repaired():
    plain = map_tasks(chain_of(64), cluster(), "identity")
    turned = map_tasks(chain_of(64), cluster(), ["identity", Reversed()])
    assert turned.pe.tolist() == plain.pe.tolist()[::-1]
    twice = map_tasks(chain_of(64), cluster(), ["identity", Reversed(), Reversed()])
    assert twice.pe.tolist() == plain.pe.tolist()
    assert twice.info["refine"] == ["Reversed", "Reversed"]
    careless = map_tasks(chain_of(640), cluster(), ["identity", Careless()], partition=True)
    assert set(careless.tasks_per_pe().tolist()) <= {9, 10}


def test_searches_say_how_far_they_are_and_find_the_same():
    seen, steps = [], ["multisection:schedule=queue", "vcycle", "evolve:steps=2"]
    graph, where = hb.read("stencil:24x24"), cluster(4)
    mapping = map_tasks(graph, where, steps, partition=True, progress=lambda *what: seen.append(what))
    assert mapping.pe.tolist() == map_tasks(graph, where, steps, partition=True).pe.tolist()
    stages = {}
    for stage, done, total in seen:
        stages.setdefault(stage.partition(",")[0], []).append(done)
        assert 0 <= done <= total
    assert {"refine", "evolve", "subproblems divided"} <= set(stages)
    assert max(stages["evolve"]) == 1
    assert stages["subproblems divided"][0] == 1


@pytest.mark.parametrize("mapper", ["multisection", "multisection:schedule=queue"])
def test_who_asks_to_stop_gets_a_placement_and_how_to_repeat_it(mapper):
    """Nothing of size is under way at once here, so the answer is that of a work limit of 0."""
    graph, asked = chain_of(3000), []

    def stop():
        asked.append(None)
        return True

    stopped = map_tasks(
        graph, cluster(), [mapper, "vcycle"], partition=True, threads=2, limits=hb.Limits(stop=stop)
    )
    assert asked
    assert stopped.info["notices"][0] == "stopped early: this is the best mapping found until then"
    assert not stopped.info["deterministic"]
    assert "moves" not in stopped.info["work"]  # the refiner never began
    assert np.bincount(stopped.pe).max() <= stopped.info["bound_kept"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"imbalance": -0.1}, "imbalance -0.1, expected a finite number >= 0"),
        ({"imbalance": float("nan")}, "imbalance nan"),
        ({"imbalance": float("inf")}, "imbalance inf"),
        ({"threads": 0}, "threads 0, expected an integer >= 1"),
        ({"threads": 1.5}, "threads 1.5"),
        ({"seed": "abc"}, "seed 'abc', expected an integer >= 0"),
        ({"seed": 1.0}, "seed 1.0"),
        ({"seed": -1}, "seed -1"),
        ({"seed": True}, "seed True"),
        ({"method": "randon"}, "unknown method 'randon', did you mean 'random'"),
        ({"method": "random:tries=3"}, "option 'tries=3' is unknown, it has no options"),
        ({"method": "randon:tries=3"}, "unknown mapper 'randon', did you mean 'random'"),
        ({"method": "ecco"}, "unknown method 'ecco', did you mean 'eco'"),
        ({"method": ["eco", "nothing-like-it"]}, "unknown refiner"),
        ({"method": []}, "method [], expected a preset or a mapper"),
        ({"objective": "com_cost"}, "did you mean 'comm_cost'"),
        ({"seed": 2**63}, "seed 9223372036854775808, expected at most 2^63 - 1"),
        ({"method": 3}, "method 3, expected a name or a Chain or a Mapper"),
        ({"method": ["eco", 3]}, "refiner 3, expected a name or a Refiner"),
        ({"limits": 3}, "limits 3, expected a Limits"),
        ({"constraints": {0: 1}}, "constraints {0: 1}, expected a Constraints"),
        ({"objective": 3}, "objective 3, expected a name"),
        ({"weight": 3}, "weight 3, expected a name"),
        ({"weight": "byte"}, "did you mean 'bytes'"),
    ],
)
def test_bad_options_are_one_line_errors(options, text):
    with pytest.raises(UnsupportedError) as caught:
        map_tasks(chain_of(8), cluster(), **options)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("limit", [-1, float("nan"), 10**400])
def test_limits_of_time_are_seconds(limit):
    with pytest.raises(UnsupportedError, match=r"`Limits\(time=.*\)`, expected seconds >= 0"):
        hb.Limits(time=limit)


@pytest.mark.parametrize("choice", [{"pack": True}, {"tasks_per_node": 3}, {"tasks_per": "node=3"}])
@pytest.mark.parametrize("oversubscribe", [False, True])
def test_slots_cannot_be_chosen_when_all_are_needed(choice, oversubscribe):
    where = hb.allocate(cluster(), oversubscribe=oversubscribe, **choice)
    with pytest.raises(UnsupportedError, match=mentions("100", "64")):
        map_tasks(chain_of(100), where, "identity", partition=not oversubscribe)


def test_volumes_that_could_overflow_are_refused_with_a_factor():
    graph = hb.CommGraph.from_edges([0], [1], [2**62], n=2)
    with pytest.raises(ScaleError, match="divide"):
        map_tasks(graph, cluster(), "identity")
    near = hb.Allocation.whole(Tree((Level("core", 1),), (2,)))
    assert map_tasks(graph, near, "identity").info["comm_cost"] == 2**62


@pytest.mark.parametrize("preset", ["fast", "eco"])
@pytest.mark.parametrize("heavy", [1, 5, 6, 11])
def test_one_heavy_task_among_many_that_weigh_nothing(preset, heavy):
    """Equal shares of its load are blocks of size 0 and 1, far fewer than there are tasks."""
    loads = np.zeros(384, np.int64)
    loads[146] = heavy
    graph = hb.CommGraph.from_edges([318, 318, 319], [313, 329, 176], [1, 1, 346], n=384, loads=loads)
    mapping = hb.map_tasks(graph, hb.allocate("l3:6@10 core:8@1"), preset, partition=True)
    assert np.bincount(mapping.pe, minlength=48).min() > 0
    assert mapping.info["comm_cost"] == 0


@pytest.mark.parametrize("preset", ["fast", "eco"])
def test_a_refiner_that_empties_a_pe_is_not_the_best_of_its_chain(preset):
    """With much room J is least where some PEs hold nothing, which a partition must not have."""
    graph = hb.read("stencil:64x64:bytes=1")
    for imbalance in (0.1, 0.9):
        mapping = map_tasks(graph, hb.allocate("node:4 core:8"), preset, partition=True, imbalance=imbalance)
        assert mapping.tasks_per_pe().min() >= 1


def test_work_on_a_star_grows_with_its_leaves():
    """Where a hub is judged anew for each leaf that moves it grows with their square: sixteen times here."""
    where, work = hb.allocate("node:8@10 core:8@1"), []
    for leaves in (20_000, 80_000):
        star = hb.CommGraph.from_edges(np.zeros(leaves, np.int32), np.arange(1, leaves + 1, dtype=np.int32))
        work.append(hb.map_tasks(star, where, "fast", partition=True).info["work"]["arcs"])
    assert work[1] < 8 * work[0]


@pytest.mark.parametrize(("n", "k"), [(65, 64), (129, 128), (63, 64), (64, 64), (127, 128)])
def test_around_one_task_per_pe(n, k):
    """As a partition every PE holds floor(n/k) or ceil(n/k), so none is empty when n >= k."""
    mapping = map_tasks(chain_of(n), cluster(k // 4), "random", partition=True, seed=3)
    counts = mapping.tasks_per_pe()
    assert counts.min() == n // k
    assert counts.max() == -(-n // k)
    assert mapping.info["balance"] == "met"


def test_fewer_tasks_than_pes_spread_over_nodes_or_pack():
    spread = map_tasks(chain_of(8), hb.allocate(cluster(4), spread=True), "identity")
    assert np.bincount(spread.pe // 4).tolist() == [2, 2, 2, 2]
    packed = map_tasks(chain_of(8), hb.allocate(cluster(4), pack=True), "identity")
    assert packed.pe.tolist() == list(range(8))
    counted = map_tasks(chain_of(8), hb.allocate(cluster(4), tasks_per_node=3), "identity")
    assert np.bincount(counted.pe // 4).tolist() == [3, 3, 2]


def test_a_hub_of_a_quarter_of_the_load_gets_a_pe_to_itself():
    loads = np.ones(301, np.int64)
    loads[17] = 100
    mapping = map_tasks(chain_of(301, loads), cluster(), "random", partition=True)
    held = np.bincount(mapping.pe, weights=loads)
    assert held[mapping.pe[17]] == 100
    assert np.delete(held, mapping.pe[17]).max() <= 5  # ceil(300 / 63)
    assert mapping.info["balance"] == "met"
    assert "1 task is heavier" in mapping.info["notices"][0]


def test_tasks_without_load_do_not_pile_up():
    """150 of 300 tasks weigh nothing: at most ceil(1.03 * 150 / 16) = 10 of them on a PE."""
    loads = np.arange(300) % 2
    order = np.argsort(loads, kind="stable")  # all idle tasks first: in order they would fill whole PEs
    mapping = map_tasks(chain_of(300, loads[order]), cluster(4), "identity", partition=True)
    assert np.bincount(mapping.pe[loads[order] == 0], minlength=16).max() <= 10
    assert np.bincount(mapping.pe[loads[order] == 1], minlength=16).max() <= 10


def test_loads_of_forty_bits_keep_the_bound():
    loads = np.random.default_rng(5).integers(1, 2**40, 400)
    info = map_tasks(chain_of(400, loads), cluster(8), "random", partition=True).info
    assert info["balance"] == "met"
    assert info["bound_asked"] == 103 * int(loads.sum()) // (100 * 32)


def test_info_agrees_with_an_independent_evaluation():
    loads = np.random.default_rng(2).integers(0, 9, 100)
    graph = chain_of(100, loads)
    mapping = map_tasks(graph, cluster(2), "random", seed=9)
    measured = hb.evaluate(graph, mapping, baselines=False).mapping
    assert mapping.info["comm_cost"] == measured.comm_cost
    assert mapping.info["imbalance"] == measured.imbalance
    assert mapping.info["bound_kept"] == measured.max_load
    assert mapping.info["seed"] == 9
    assert mapping.info["mapper"] == "random"
    assert mapping.info["version"] == hb.__version__
    assert set(mapping.info["seconds"]) == {"map", "verify"}


def test_refiners_are_told_the_relaxed_bound():
    """They must not be asked to keep what the placement they start from does not keep."""
    class Looks(Refiner):
        def refine(self, graph, where, pe, bounds, effort):
            seen.append(sorted(bounds.load.tolist()))
            return pe

    seen = []
    two = hb.Allocation.whole(Tree((Level("core", 1),), (2,)))
    map_tasks(chain_of(4, [5, 5, 5, 2]), two, ["identity", Looks()], partition=True)
    assert seen == [[9, 10]]


def test_progress_and_an_interrupt_pass_through():
    class Impatient(Mapper):
        def map(self, graph, where, bounds, effort):
            effort.progress("working", 1, 2)
            raise KeyboardInterrupt

    seen = []
    with pytest.raises(KeyboardInterrupt):
        map_tasks(chain_of(8), cluster(), Impatient(), progress=lambda *what: seen.append(what))
    assert seen == [("working", 1, 2)]


def test_the_deadline_reaches_the_mapper_in_time_for_verification():
    class Asks(Mapper):
        def map(self, graph, where, bounds, effort):
            deadlines.append(effort.deadline)
            return np.arange(graph.n, dtype=np.int32)

    deadlines = []
    map_tasks(chain_of(64), cluster(), Asks())
    latest = time.monotonic() + 60
    map_tasks(chain_of(64), cluster(), Asks(), limits=hb.Limits(time=60))
    assert deadlines[0] is None
    assert time.monotonic() < deadlines[1] < latest + 60
    assert deadlines[1] < time.monotonic() + 60


def test_info_is_plain_data():
    info = map_tasks(chain_of(640, np.arange(640) % 3), cluster(), "random").info
    assert json.loads(json.dumps(info)) == info
