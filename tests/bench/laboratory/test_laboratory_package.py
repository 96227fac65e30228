"""What the laboratory offers by its entry points or by `register`, and what an error says without it."""

import importlib.metadata
import json

import numpy as np
import pytest

import hopbytes as hb
import hopbytes_laboratory
from bench import BENCH, read_toml
from hopbytes.algorithms.base import mappers
from hopbytes.algorithms.mappers.multisection import partitioners
from hopbytes.machines.allocate.hosts import samplers
from hopbytes_laboratory import compare_runs

SCHEMA = BENCH / "laboratory/compare-runs.schema.json"
ON_LINKS = hb.allocate("torus:4x4 / core:2")


def test_entry_points_name_what_register_adds():
    points = read_toml(BENCH / "pyproject.toml")["project"]["entry-points"]
    assert points["hopbytes.mappers"] == hopbytes_laboratory.MAPPERS
    assert points["hopbytes.hosts"] == hopbytes_laboratory.SAMPLERS
    registries = {"mappers": mappers, "partitioners": partitioners, "hosts": samplers}
    for group, registry in ((f"hopbytes.{name}", registry) for name, registry in registries.items()):
        for name, value in points[group].items():
            entry = importlib.metadata.EntryPoint(name, value, group)
            assert registry[name] is entry.load()


@pytest.mark.parametrize("name", hopbytes_laboratory.MAPPERS)
def test_each_mapper_keeps_the_promises_of_mappers(name):
    graph = hb.read("stencil:6x5")
    mapping = hb.map_tasks(graph, ON_LINKS, name, seed=5)
    assert np.bincount(mapping.pe).max() == 1
    again = hb.map_tasks(graph, ON_LINKS, name, seed=5, threads=2)
    assert np.array_equal(mapping.pe, again.pe)
    counted = hb.map_tasks(hb.read("stencil:9x9"), ON_LINKS, name, partition=True)
    assert np.bincount(counted.pe, minlength=32).max() == 3
    hb.map_tasks(graph, ON_LINKS, name, limits=hb.Limits(time=0))


def test_without_it_one_line_says_how_to_get_it(monkeypatch):
    monkeypatch.delitem(partitioners._things, "external")
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: [])
    for options in ({"partitioner": "kahip:eco"}, {"kaminpar_partitions": 2}):
        with pytest.raises(hb.UnsupportedError, match=r"pip install \./bench") as refused:
            hb.mappers.Multisection(**options)
        assert "\n" not in str(refused.value)


@pytest.fixture
def results(tmp_path):
    rows = [
        {"tool": tool, "preset": "eco", "instance": "mesh", "seed": 1, "comm_cost": cost}
        for tool, cost in (("ours", 30), ("theirs", 40))
    ]
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_tables_of_runs(results, capsys):
    assert compare_runs.main([str(results), "--baseline", "theirs"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("  ours:eco"))
    assert line.split()[:3] == ["ours:eco", "theirs:eco", "0.750"]
    assert compare_runs.main([str(results), "--baseline", "theirs:eco", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)["overall"]
    standings = {standing["contender"]: standing for standing in printed}
    assert standings["ours:eco"]["ratios"]["comm_cost"] == pytest.approx(0.75)
    assert standings["ours:eco"]["wins"] == 1


def test_what_is_printed_fits_its_schema(results, capsys):
    jsonschema = pytest.importorskip("jsonschema")
    assert compare_runs.main([str(results), "--baseline", "theirs", "--json"]) == 0
    schema, answer = json.loads(SCHEMA.read_text()), json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator(schema).validate(answer)
    assert set(answer) == set(schema["properties"])
