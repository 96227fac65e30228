"""Algorithms of notebooks, of the user's own modules and of other packages."""

import dataclasses
import importlib
import importlib.metadata
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import hopbytes as hb
from hopbytes.algorithms.base import mappers, refiners
from hopbytes.util.registry import Registry


def test_a_definition_that_runs_again_replaces_itself():
    registry = Registry("mapper", ())

    def cell():
        @registry.register("mine")
        @dataclasses.dataclass(frozen=True)
        class Mine:
            pass

        return Mine

    first, second = cell(), cell()
    assert registry["mine"] is second is not first

    class Other:
        pass

    with pytest.raises(ValueError, match="two mappers are called 'mine'"):
        registry.register("mine")(Other)


OWN = """
    from dataclasses import dataclass
    import numpy as np
    import hopbytes as hb

    @dataclass(frozen=True)
    class Reverse(hb.Mapper):
        by: int = 1

        def map(self, graph, where, bounds, effort):
            return np.arange(graph.n, dtype=np.int32)[::-1]
"""


def test_names_are_in_alphabetical_order():
    things = Registry("thing", ())
    for name in ("b", "c", "a"):
        things.register(name)(object())
    assert list(things) == [name for name, _ in things.items()] == ["a", "b", "c"]


def test_things_are_found_by_other_names_and_by_class():
    registry = Registry("tool", (), {"short": "a_long_name"})

    @registry.register("a_long_name")
    class LongName:
        pass

    registry.register("odd")(type("Quite", (), {}))
    assert registry["short"] is registry["a_long_name"] is LongName
    assert "short" in registry
    assert registry.holds("a_long_name")
    assert not registry.holds("short")
    assert registry.class_named("LongName") is LongName
    assert registry.class_named("Quite") is registry["odd"]
    assert registry.class_named("Missing") is None
    assert (registry.name_of(LongName), registry.name_of(int)) == ("a_long_name", None)
    with pytest.raises(hb.UnsupportedError, match="'odd'"):
        registry["ods"]
    with pytest.raises(hb.UnsupportedError, match="3"):
        registry[3]


def test_a_class_of_another_module(tmp_path, monkeypatch):
    (tmp_path / "own_module.py").write_text(textwrap.dedent(OWN))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_module", raising=False)
    mapping = hb.map_tasks("stencil:2x2", "core:4", "own_module:Reverse:by=3")
    assert mapping.pe.tolist() == [3, 2, 1, 0]
    assert mapping.info["mapper"] == "Reverse:by=3"
    typed = ["map", "stencil:2x2", "--on", "core:4", "--mapper", "own_module:Reverse"]
    done = subprocess.run([sys.executable, "-m", "hopbytes", *typed], capture_output=True, text=True)
    assert done.stdout.split() == ["3", "2", "1", "0"], done.stderr


def test_a_class_that_is_no_mapper():
    with pytest.raises(TypeError, match="expected a name or a Mapper"):
        hb.map_tasks("stencil:2x2", "core:4", "collections:Counter")


class Entry:
    """What importlib.metadata returns, with a thing that may not load."""

    value = "package:Thing"

    def __init__(self, name, thing):
        self.name, self.thing = name, thing

    def load(self):
        if isinstance(self.thing, Exception):
            raise self.thing
        return self.thing


def test_entry_points(monkeypatch):
    asked = []

    def entry_points(group):
        asked.append(group)
        return [Entry("theirs", int), Entry("broken", ImportError("no such library"))]

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    registry = Registry("mapper", (), entry_points="hopbytes.mappers")
    registry.register("ours")(float)
    assert registry["ours"] is float
    assert asked == []  # a name that is known here costs no look-up
    assert registry["theirs"] is int
    assert set(asked) == {"hopbytes.mappers"}
    with pytest.raises(hb.UnsupportedError, match="no such library"):
        registry["broken"]
    with pytest.warns(hb.HopbytesWarning, match="'broken'"):
        assert list(registry) == ["ours", "theirs"]


@pytest.mark.parametrize(("face", "registry"), [(hb.mappers, mappers), (hb.refiners, refiners)])
def test_every_algorithm_is_importable(face, registry):
    for _, kind in registry.items():
        assert getattr(face, kind.__name__) is kind
        assert kind.__name__ in dir(face)
    with pytest.raises(AttributeError):
        face.NoSuchAlgorithm  # noqa: B018


FORMAT = """
    from hopbytes.formats.base import Format
    from hopbytes.model.comm_graph import CommGraph

    class Pairs(Format):
        holds = "pattern"
        suffixes = (".pairs",)

        def sniff(self, name, head):
            return head.startswith(b"pairs of ranks")

        def read(self, source):
            lines = [line.split() for line in source.text().splitlines()[1:]]
            ends = [[int(number) for number in column] for column in zip(*lines)]
            return CommGraph.from_edges(*ends)

    pairs = Pairs()
"""


@pytest.fixture
def their_format(tmp_path, monkeypatch):
    """An installed package that adds a format of patterns."""
    (tmp_path / "their_package.py").write_text(textwrap.dedent(FORMAT))
    installed = tmp_path / "their_package-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[hopbytes.formats]\npairs = their_package:pairs\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ring", "pairs of ranks and bytes\n0 1 5\n1 2 7\n"),  # by content
        ("ring.txt", "pairs of ranks and bytes\n0 1 5\n1 2 7\n"),  # the suffix of mappings and traces
        ("ring.pairs", "from to bytes\n0 1 5\n1 2 7\n"),  # by suffix
    ],
)
def test_a_pattern_in_the_format_of_another_package(their_format, name, text):
    Path(name).write_text(text)
    for typed, said in ((["show", name, "--json"], '"volume": 12'), (["map", name, "--on", "core:3"], "0\n")):
        done = subprocess.run([sys.executable, "-m", "hopbytes", *typed], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert said in done.stdout


def test_a_name_loads_its_file_only(tmp_path, monkeypatch):
    package = tmp_path / "things"
    package.mkdir()
    package.joinpath("__init__.py").write_text("")
    package.joinpath("one.py").write_text("from hopbytes_things import things\nthings.register('one')(1)\n")
    package.joinpath("two.py").write_text("raise AssertionError('two was loaded')\n")
    tmp_path.joinpath("hopbytes_things.py").write_text(
        "from hopbytes.util.registry import Registry\nthings = Registry('thing', 'things')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    things = importlib.import_module("hopbytes_things").things
    assert things["one"] == 1
    assert "three" not in things
    assert "no/file" not in things
    with pytest.raises(AssertionError, match="two was loaded"):
        list(things)
