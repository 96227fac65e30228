"""Scripts of the benchmark are started from the top folder, and so are the processes that they start."""

import pytest

from bench import ROOT
from hopbytes.algorithms.base import mappers
from hopbytes.algorithms.mappers.multisection import partitioners
from hopbytes.machines.allocate.hosts import samplers
from hopbytes_laboratory import MAPPERS, SAMPLERS, register


@pytest.fixture(autouse=True)
def top_folder(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.fixture(autouse=True)
def laboratory():
    """What the laboratory offers is there during these tests only."""
    register()
    yield
    for name in MAPPERS:
        mappers._things.pop(name, None)
    for name in SAMPLERS:
        samplers._things.pop(name, None)
    partitioners._things.pop("external", None)
