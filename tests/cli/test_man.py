"""The manual pages are made from the options themselves, are current, and can be rendered."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from hopbytes.cli.app import VERBS

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("make_man", ROOT / "tools/make_man.py")
assert spec is not None
assert spec.loader is not None
make_man = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_man)
PAGES = make_man.pages()


def test_pages_are_current():
    """``python tools/make_man.py`` renews them."""
    assert {path.name: path.read_text() for path in (ROOT / "docs/man").glob("*.1")} == PAGES


def test_every_verb_has_a_page():
    assert set(PAGES) == {"hopbytes.1", *(f"hopbytes-{verb}.1" for verb in VERBS)}


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_render_without_a_complaint(name):
    command = ["groff", "-man", "-Tutf8", "-ww", "-Kutf8"]
    done = subprocess.run(command, input=PAGES[name], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "EXIT STATUS"):
        assert heading in re.sub(".\x08", "", done.stdout)  # bold is a letter typed twice


def test_what_roff_would_take_for_orders_is_text():
    assert make_man.escaped(".pattern") == "\\&.pattern"
    assert make_man.escaped("a\\b--c") == "a\\eb\\-\\-c"
