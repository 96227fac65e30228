"""Every example in docstrings and documents runs."""

import doctest
import importlib
import pkgutil
import re
import shutil

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import ROOT

NOT_IMPORTABLE = {"hopbytes.__main__", "hopbytes._core", "hopbytes.partitioners._worker"}
MODULES = sorted(
    {module.name for module in pkgutil.walk_packages(hb.__path__, "hopbytes.")} - NOT_IMPORTABLE
)


def python_blocks(document):
    return re.findall(r"^```python\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name, monkeypatch):
    monkeypatch.chdir(ROOT)
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) > 20


def test_readme(tmp_path, monkeypatch, capsys):
    (code,) = python_blocks("README.md")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert "communication cost J" in capsys.readouterr().out
    assert (tmp_path / "rankfile").exists()


def test_metrics_that_explain_times(capsys):
    (code,) = python_blocks("docs/which-mapper.md")
    exec(code, {})
    assert capsys.readouterr().out.startswith("{'MC': 0.")


def test_recipe_for_a_mapper():
    """The class in ARCHITECTURE.md, registered in registries of its own so that it does not stay."""
    from dataclasses import dataclass

    from hopbytes._util.registry import Registry
    from hopbytes.algorithms.base import Mapper, mappers

    registry = Registry("mapper", "hopbytes.algorithms.mappers")
    (code,) = python_blocks("ARCHITECTURE.md")
    exec(code, names := {"mappers": registry, "Mapper": Mapper, "dataclass": dataclass, "np": np})
    graph = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 0])
    mapping = hb.map_tasks(graph, hb.machine("core:3"), mapper=names["Reverse"](offset=1))
    assert mapping.pe.tolist() == [0, 2, 1]
    assert "reverse" not in mappers
