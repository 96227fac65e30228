"""Scripts that draw end in a sentence, not in a traceback, where matplotlib is missing."""

from __future__ import annotations

import sys

import pytest

from bench import pictures
from bench.papers import paper001, paper003_table, ptram_table
from bench.studies import fabrics, network_rivals


@pytest.fixture
def without_matplotlib(monkeypatch):
    monkeypatch.setattr(pictures.importlib.util, "find_spec", lambda name: None)


@pytest.mark.parametrize(("script", "option"), [
    (fabrics, "--plot"), (network_rivals, "--plot"), (paper001, "--plots"),
])  # fmt: skip
def test_no_picture_without_matplotlib_and_no_work_before(
    script, option, tmp_path, monkeypatch, without_matplotlib
):
    out = tmp_path / "rows.jsonl"
    monkeypatch.setattr(sys, "argv", [script.__name__, "--out", str(out), option, str(tmp_path / "p.png")])
    with pytest.raises(SystemExit, match="pictures need matplotlib"):
        script.main()
    assert not out.exists()


@pytest.mark.parametrize("script", [paper003_table, ptram_table])
def test_tables_are_printed_without_pictures(script, tmp_path, capsys, without_matplotlib):
    assert script.draw([], tmp_path / "rows.jsonl") == []
    assert "pictures need matplotlib" in capsys.readouterr().err
