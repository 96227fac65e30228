"""Scripts that draw end in a sentence, not in a traceback, where matplotlib is missing."""

from __future__ import annotations

import ast
import sys

import pytest

from bench import BENCH, pictures
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


def test_nobody_else_imports_matplotlib():
    for path in BENCH.rglob("*.py"):
        names = [
            name
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else
                         [alias.name for alias in node.names])
        ]  # fmt: skip
        if path.name != "pictures.py":
            assert not any(name.partition(".")[0] == "matplotlib" for name in names), path.name
