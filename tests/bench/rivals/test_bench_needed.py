"""A rival that is not installed is said in one line with the way to get it, not in a traceback."""

import sys

import pytest

from bench import run
from bench.rivals import needed
from bench.rivals.tools import TOOLS
from bench.studies import equal_time, exact


@pytest.fixture
def nothing_installed(monkeypatch):
    monkeypatch.setattr(needed.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(needed.shutil, "which", lambda name: None)


def test_everything_that_a_tool_needs_is_known(nothing_installed):
    for name, tool in TOOLS.items():
        assert (tool.absent() is None) == (name == "hopbytes")


def test_run_leaves_a_missing_rival_out_and_says_how_to_get_it(nothing_installed, capsys):
    assert run.installed(["sharedmap", "hopbytes"]) == ["hopbytes"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("sharedmap is left out: ")
    assert "pip install '.[bench]'" in line


def test_run_with_nothing_but_missing_rivals_ends(nothing_installed, tmp_path):
    with pytest.raises(SystemExit, match="no tool is left"):
        run.main(["--suite", "smoke", "--out", str(tmp_path / "r.jsonl"), "--tools", "sharedmap"])


@pytest.mark.parametrize(("script", "package"), [(equal_time, "chszlablib"), (exact, "kahip")])
def test_studies_end_before_any_work(script, package, nothing_installed, monkeypatch, tmp_path):
    options = ["--out", str(tmp_path / "r.jsonl")] if script is equal_time else []
    monkeypatch.setattr(sys, "argv", [script.__name__, *options])
    with pytest.raises(SystemExit, match=f"{package} is not installed"):
        script.main()
