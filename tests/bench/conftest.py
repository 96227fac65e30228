"""Scripts of the benchmark are started from the top folder, and so are the processes that they start."""

import pytest

from bench import ROOT


@pytest.fixture(autouse=True)
def top_folder(monkeypatch):
    monkeypatch.chdir(ROOT)
