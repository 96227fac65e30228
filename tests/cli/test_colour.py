"""Colour: only on terminals, not with NO_COLOR; errors, the verdict and heads of tables are set off."""

import pytest

from helpers.paths import EXAMPLES
from helpers.terminal import on_terminal

ESCAPE = "\x1b["
GIVEN = (EXAMPLES / "halo_96.pattern", "--on", "node:8@10 core:12@1")
EVAL = ("eval", *GIVEN, "--order", "cyclic")
ADVISE = ("advise", *GIVEN, "--seeds", "1", "--preset", "fast")
WRONG = ("eval", "nosuch.csv", "--on", "core:2", "m")


def on_a_terminal(*words, **variables):
    """Return what the program writes to a terminal, both streams."""
    with on_terminal(*words, **variables) as run:
        return run.rest().decode().replace("\r\n", "\n")


def line_with(text, words):
    return next(line for line in text.splitlines() if words in line)


def test_errors_verdicts_and_heads_are_set_off():
    assert on_a_terminal(*WRONG).startswith("\x1b[1;31mhopbytes:\x1b[0m ")
    text = on_a_terminal(*EVAL)
    assert line_with(text, "the messages are predicted").startswith("\x1b[1;3")
    assert line_with(text, "  in order").startswith("\x1b[1m ")
    text = on_a_terminal(*ADVISE)
    assert line_with(text, "Use preset fast").startswith("\x1b[1;32mUse")
    assert line_with(text, "limited by").startswith("\x1b[1m ")
    assert line_with(text, "order cyclic").startswith("order")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_refused(environment):
    for words in (EVAL, ADVISE, WRONG):
        assert ESCAPE not in on_a_terminal(*words, **environment)


def test_pipes_get_none(hopbytes):
    for words in (EVAL, ADVISE):
        done = hopbytes(*words)
        assert ESCAPE not in done.stdout + done.stderr
