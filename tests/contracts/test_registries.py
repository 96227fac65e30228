"""The thing called `name` is in the file ``name.py``, so that asking for it loads nothing else."""

import importlib
import pkgutil
from importlib.metadata import entry_points

import pytest

from hopbytes.algorithms.base import mappers, refiners
from hopbytes.cost.objectives.base import objectives
from hopbytes.formats.base import formats
from hopbytes.machines.base import machines
from hopbytes.patterns.base import patterns

REGISTRIES = (formats, machines, mappers, refiners, objectives, patterns)


@pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.kind)
def test_every_name_is_a_file(registry):
    folders = [importlib.import_module(package) for package in registry._packages]
    files = {module.name for folder in folders for module in pkgutil.iter_modules(folder.__path__)}
    elsewhere = {entry.name for entry in entry_points(group=registry._group)} if registry._group else set()
    for name, thing in registry.items():
        if name in elsewhere:  # another installed package adds it by an entry point
            continue
        in_table = registry._modules.get(name) == type(thing).__module__
        assert in_table or files & {f"{prefix}{name}" for prefix in registry._prefixes}, name
        assert registry.name_of(thing) == name


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
