"""Programs that are started and heard: what they say, and what becomes of those that never end."""

import os
import time
from pathlib import Path

import pytest

from helpers.errors import mentions
from hopbytes._util.programs import heard
from hopbytes.errors import HopbytesError, UnsupportedError


def test_what_is_said():
    assert heard(["sh", "-c", "echo a; echo b; exit 3"]) == ("a\nb\n", 3)
    assert heard(["sh", "-c", "cat; echo $WORD"], environment={**os.environ, "WORD": "x"}) == ("x\n", 0)
    assert heard(["true"], sign="never said") == ("", 0)


def test_what_never_ends_is_stopped(tmp_path):
    with pytest.raises(HopbytesError, match=mentions("0.3")):
        heard(["sh", "-c", f"echo $$ > {tmp_path}/started; exec sleep 300"], within=0.3, hint="why")
    assert not Path(f"/proc/{(tmp_path / 'started').read_text().strip()}").exists()
    with pytest.raises(HopbytesError, match="did not get under way in"):
        heard(["sh", "-c", "echo read; exec sleep 300"], within=0.3, sign="ready")


def test_what_is_under_way_may_take_long():
    began = time.monotonic()
    words = ["sh", "-c", "printf rea; sleep 0.2; echo dy; sleep 4; echo done"]
    said, code = heard(words, within=3, sign="ready")
    assert (said, code) == ("ready\ndone\n", 0)
    assert time.monotonic() - began > 3


def test_what_is_said_without_end():
    with pytest.raises(HopbytesError, match="yes printed without end"):
        heard(["yes"], most=10**6)


def test_what_cannot_be_started():
    with pytest.raises(UnsupportedError, match=r"no-such-launcher: No such file .*, expected a launcher"):
        heard(["no-such-launcher"])
