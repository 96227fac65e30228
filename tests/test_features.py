"""No feature was lost: each of before has a command today that is accepted, on a page that is current."""

import importlib.util
import re
import shlex
from pathlib import Path

from hopbytes.cli.app import command_of

ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("features", ROOT / "tools/features.py")
assert spec is not None
assert spec.loader is not None
features = importlib.util.module_from_spec(spec)
spec.loader.exec_module(features)


def test_the_page_is_current():
    """``python tools/features.py`` renews it; a name or an option that was lost is a KeyError."""
    assert features.PAGE.read_text() == features.page()


def test_every_command_of_today_is_accepted():
    told = features.page()
    commands = re.findall(r"\| `(?:pip install ./bench; )?hopbytes ([^`]+)` \|$", told, re.MULTILINE)
    assert len(commands) > 150
    for verb, *words in map(shlex.split, commands):
        if not verb.startswith("--") and words:
            assert command_of(verb).make_context(verb, words) is not None
