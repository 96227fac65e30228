"""Functions of the package take patterns, machines and mappings in the same forms."""

from __future__ import annotations

import pytest

import hopbytes as hb

SPEC, MACHINE = "stencil:4x4", "node:4@10 core:4@1"


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Return the pattern and the mapping as objects, with both as files and specs beside."""
    monkeypatch.chdir(tmp_path)
    graph = hb.read(SPEC)
    mapping = hb.map_tasks(graph, MACHINE, "fast")
    hb.write(graph, "app.csv")
    hb.write(mapping, "placed.json")
    return graph, mapping


FORMS = [("stencil:4x4", "placed.json"), ("app.csv", "placed.json")]


@pytest.mark.parametrize(("pattern", "placed"), FORMS)
def test_texts_are_what_they_name(given, tmp_path, pattern, placed):
    graph, mapping = given
    assert hb.evaluate(pattern, mapping).comm_cost == mapping.comm_cost
    assert hb.evaluate(graph, placed).comm_cost == mapping.comm_cost
    assert hb.evaluate(tmp_path / "app.csv", tmp_path / placed).comm_cost == mapping.comm_cost
    assert hb.simulate(pattern, placed).seconds == hb.simulate(graph, mapping).seconds
    assert hb.write_report(pattern, placed, "r.html") == "r.html"
    assert hb.write_report(pattern, {"one": placed, "two": mapping}, "s.html") == "s.html"
    assert hb.Remapper(pattern, MACHINE, placed).comm_cost == mapping.comm_cost
    assert hb.read(placed, where=MACHINE, graph=pattern).comm_cost == mapping.comm_cost
    hb.write(mapping, "again.json", graph=pattern)
    hb.write(mapping, "hosts.sh", "slurm", hosts="n[3-6]")
    assert "n5" in (tmp_path / "hosts.sh").read_text()
    with pytest.raises(hb.UnsupportedError, match="another pattern"):
        hb.read("again.json", graph="stencil:4x3")
    assert hb.CommGraph.of(pattern).total_volume == graph.total_volume


def test_pictures_take_the_same(given):
    pytest.importorskip("matplotlib")
    hb.plot.matrix(SPEC, "placed.json")
    hb.plot.levels(SPEC, "placed.json")
    hb.plot.levels(SPEC, {"mine": "placed.json"})
    hb.plot.machine(MACHINE)
    hb.plot.network("torus:4x4")
    hb.plot.history("placed.json")


@pytest.mark.parametrize("function", [hb.evaluate, hb.simulate])
def test_what_is_none_of_them_is_refused(given, function):
    graph, mapping = given
    with pytest.raises(hb.WrongTypeError):
        function(graph, [0, 1])
    with pytest.raises(hb.WrongTypeError):
        function(5, mapping)
    with pytest.raises(hb.HopbytesError, match="nosuch"):
        function("nosuch.csv", mapping)
    with pytest.raises(hb.WrongTypeError):
        hb.Mapping([0], 5)
