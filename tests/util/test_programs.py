"""Programs that are started, their output, and the end of those that run too long."""

import os
import time
from pathlib import Path

import pytest

from helpers.errors import mentions
from hopbytes.errors import HopbytesError, UnsupportedError
from hopbytes.util import programs
from hopbytes.util.programs import lines_of_program, run_program


def test_what_is_said():
    assert run_program(["sh", "-c", "echo a; echo b; exit 3"]) == ("a\nb\n", 3)
    assert run_program(["sh", "-c", "cat; echo $WORD"], environment={**os.environ, "WORD": "x"}) == ("x\n", 0)
    assert run_program(["true"], marker="never said") == ("", 0)


def test_what_never_ends_is_stopped(tmp_path):
    with pytest.raises(HopbytesError, match=mentions("0.3")):
        run_program(["sh", "-c", f"echo $$ > {tmp_path}/started; exec sleep 300"], timeout=0.3, hint="why")
    assert not Path(f"/proc/{(tmp_path / 'started').read_text().strip()}").exists()
    with pytest.raises(HopbytesError, match="did not start all of its processes within"):
        run_program(["sh", "-c", "echo read; exec sleep 300"], timeout=0.3, marker="ready")


def test_what_is_under_way_may_take_long():
    began = time.monotonic()
    words = ["sh", "-c", "printf rea; sleep 0.2; echo dy; sleep 4; echo done"]
    said, code = run_program(words, timeout=3, marker="ready")
    assert (said, code) == ("ready\ndone\n", 0)
    assert time.monotonic() - began > 3


def test_what_is_said_without_end():
    with pytest.raises(HopbytesError, match="yes printed more than 1000000 bytes"):
        run_program(["yes"], max_bytes=10**6)
    assert run_program(["printf", "12345"], max_bytes=5) == ("12345", 0)


def test_lines_of_a_program_that_succeeds():
    assert lines_of_program(["printf", "a\nb"]) == ["a", "b"]
    with pytest.raises(UnsupportedError, match="sh: failed with exit code 4, expected 0"):
        lines_of_program(["sh", "-c", "echo a; exit 4"])


def test_what_does_not_end_by_itself_is_killed(monkeypatch, tmp_path):
    monkeypatch.setattr(programs, "TERMINATE_TIMEOUT", 0.2)
    words = f"trap '' TERM; echo $$ > {tmp_path}/started; while true; do sleep 0.05; done"
    with pytest.raises(HopbytesError, match=r"did not end within 0.5 seconds and was stopped: a hint$"):
        run_program(["sh", "-c", words], timeout=0.5, hint="a hint")
    assert not Path(f"/proc/{(tmp_path / 'started').read_text().strip()}").exists()


def test_what_cannot_be_started():
    with pytest.raises(UnsupportedError, match=r"no-such-launcher: No such file .*, expected a launcher"):
        run_program(["no-such-launcher"])
