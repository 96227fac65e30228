"""Recommendations: keep, an order, or a preset; and what is to be typed."""

import dataclasses

import pytest

import hopbytes as hb
from hopbytes.errors import InfeasibleError
from hopbytes.machines.allocate.launcher_order import launcher_placement
from hopbytes.show.advice import UNDO, advice_record, advice_text, advise, to_type

SLOW = "node:4@10:bw=1e9:lat=1e-6 core:4@1:bw=1e10:lat=1e-7"


def pairs(*arcs, n=16):
    """Return a graph of one megabyte per pair."""
    sources, targets = zip(*arcs, strict=True)
    return hb.CommGraph.from_edges(sources, targets, [10**6] * len(arcs), n=n)


def advised(graph, spec=SLOW, **options):
    """Return the advice by one seed."""
    return advise(graph, hb.allocate(spec), **{"seeds": 1, **options})


def test_neighbours_stay_as_they_are():
    """Pairs inside nodes: no order is better than nodes filled."""
    found = advised(pairs(*((2 * i, 2 * i + 1) for i in range(8))))
    assert found.verdict.keep
    assert found.recommended is found.usual
    assert found.gain == 0
    assert to_type(found, "app.pattern", SLOW) == []
    assert found.verdict.sentence.startswith("There is nothing to gain")


def test_a_launchers_order_is_preferred_where_it_is_as_good():
    """Task i talks to i + 4 only: round robin over four nodes puts them together, as a preset does."""
    found = advised(pairs(*((i, (i + 4) % 16) for i in range(16))))
    assert found.recommended.name == "order cyclic"
    assert found.gain > 0.8
    assert "--distribution=cyclic" in to_type(found, "app.pattern", SLOW)[0]


def test_a_preset_where_no_order_helps():
    """Partners at distances that no order brings together."""
    arcs = [(0, 5), (1, 10), (2, 15), (3, 8), (4, 9), (6, 11), (7, 12), (13, 14)]
    found = advised(pairs(*arcs), presets=("fast", "eco"))
    assert found.recommended.kind == "preset"
    assert found.recommended.name == "preset fast"  # as good as eco, with less work
    assert found.recommended.prediction.bytes_between_nodes == 0
    text = advice_text(found, "my app.pattern", SLOW)
    assert "hopbytes map 'my app.pattern' --on" in text
    assert UNDO in text
    assert "busiest links" in text
    assert found.usual.levels == {"node": 7 * 10**6, "core": 10**6}


def test_the_recommended_command_gives_the_predicted_mapping():
    graph, where = hb.read("stencil:4x4x2:periodic=xyz"), hb.allocate("torus:2x4 / core:4")
    found = advise(graph, where, seeds=2, presets=("fast",))
    preset = next(each for each in found.candidates if each.kind == "preset")
    again = hb.map_tasks(graph, where, "fast", seed=preset.seed)
    assert again.pe.tolist() == preset.mapping.pe.tolist()
    assert len(preset.seconds) == 2
    assert preset.best == preset.seconds[0]


def test_a_simpler_candidate_that_is_nearly_as_good_is_recommended(monkeypatch):
    """The round robin order takes 1 % longer than what the preset finds, half of the usual time."""
    cyclic = launcher_placement(hb.allocate(SLOW), 16, "cyclic").pe.tolist()
    seconds = {tuple(range(16)): 10.0, tuple(cyclic): 5.05}

    def timed(graph, mapping, **options):
        found = hb.simulate(graph, mapping)
        return dataclasses.replace(found, seconds=seconds.get(tuple(mapping.pe.tolist()), 5.0))

    monkeypatch.setattr("hopbytes.show.advice.simulate", timed)
    found = advised(pairs((0, 5), (1, 10), (2, 15)), presets=("fast",))
    assert min(each.best for each in found.candidates) == 5.0
    assert found.recommended.name == "order cyclic"


def test_too_few_slots():
    with pytest.raises(InfeasibleError):
        advised(pairs((0, 1), n=40))


def test_bounds_keep_nothing_and_recommend_nothing():
    """The longest message is the same in every order, so that all bounds are equal."""
    graph = pairs(*((i, (i + 4) % 16) for i in range(16)))
    found = advised(graph, "node:4@10:bw=1e9:lat=1 core:4@1:bw=1e10:lat=1", presets=("fast",), grade="bound")
    assert found.recommended is None
    record = advice_record(found, "app.pattern", SLOW)
    assert (record["keep"], record["recommended"], record["type"], record["gain"]) == (None, None, [], 0)
    assert record["verdict"]["decision"] == "not decided"
    assert "Not decided" in advice_text(found, "app.pattern", SLOW)


def test_a_higher_bound_of_the_only_other_placement_keeps_nothing_either():
    """The preset finds the usual order; round robin has a higher bound, which is no time."""
    found = advised(pairs(*((2 * i, 2 * i + 1) for i in range(8))), presets=("fast",), grade="bound")
    assert found.candidates[-1].mapping.pe.tolist() == found.usual.mapping.pe.tolist()
    assert found.verdict.keep is None


def test_training_gets_orders_of_megatron_and_a_mesh():
    spec = "ml:tp=4,pp=4,dp=4,order=dp-pp-cp-ep-tp"
    found = advise(hb.read(spec), hb.allocate("rails:8x8"), seeds=1, presets=("fast",))
    assert [each.name for each in found.candidates] == [
        "ranks in order", "rank order tp-cp-ep-dp-pp", "rank order tp-cp-ep-pp-dp", "preset fast"
    ]
    typed = to_type(found, spec, "rails:8x8")
    assert typed[0] == "Megatron-LM: --use-tp-pp-dp-mapping"
    assert "--format mesh" in typed[1]
    text = advice_text(found, spec, "rails:8x8")
    assert not any(word in text for word in ("mpirun", "srun", "cyclic", "bench-pattern"))


def test_replays_are_counted_and_equal_placements_replayed_once(monkeypatch):
    told, asked = [], []

    def replayed(graph, mapping, *, announce, **options):
        asked.append(mapping.pe.tolist())
        return hb.simulate(graph, mapping)

    monkeypatch.setattr("hopbytes.show.advice.simulate", replayed)
    graph = pairs(*((2 * i, 2 * i + 1) for i in range(8)))
    advised(graph, presets=("fast", "eco"), seeds=3, grade="replay", announce=told.append)
    assert len(told) == len(asked) == len({tuple(each) for each in asked}) < 8
    assert told[0] == "replay 1 of at most 8: fill"


def test_what_is_to_be_typed_names_the_machine_that_was_given(hopbytes, tmp_path):
    hb.write(pairs(*((i, 15 - i) for i in range(8))), tmp_path / "a.pattern", format="pattern")
    done = hopbytes("advise", "a.pattern", "--on", "node:4  core:4", "--preset", "fast", "--seeds", 1)
    assert done.returncode == 0, done.stderr
    assert "hopbytes map a.pattern --on 'node:4  core:4' " in done.stdout
