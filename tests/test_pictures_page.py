"""The pictures of docs/pictures.md are current, and its block of Python runs."""

from __future__ import annotations

import importlib.util
import re

import pytest

from helpers.paths import ROOT

PAGE = ROOT / "docs/pictures.md"


def test_pictures_are_current():
    """``python docs/make_pictures.py`` renews them."""
    spec = importlib.util.spec_from_file_location("make_pictures", ROOT / "docs/make_pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    drawn = module.pictures()
    assert sorted(path.name for path in module.FOLDER.iterdir()) == sorted(drawn)
    assert set(re.findall(r"\(pictures/([a-z_]+\.svg)\)", PAGE.read_text())) == set(drawn)
    for name, content in drawn.items():
        assert (module.FOLDER / name).read_bytes() == content, name


def test_the_block_runs(tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    exec(compile(block, str(PAGE), "exec"), {})
    assert (tmp_path / "levels.pdf").stat().st_size > 1000
    matplotlib.pyplot.close("all")
