"""What tests ask of an error's text: the facts in it, not its sentence."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


def mentions(*facts: str) -> str:
    """Return a pattern for ``pytest.raises``: every fact stands in the text as a whole, in any order.

    Facts are what people need to find the fault: the file and its line, the value, what would be accepted.
    """
    if not facts:
        raise ValueError("no facts, expected one or more: everything would match")

    def whole(fact: str) -> str:
        before = r"(?<!\w)" if fact[0].isalnum() else ""
        after = r"(?!\w)" if fact[-1].isalnum() else ""
        return rf"(?=[\s\S]*{before}{re.escape(fact)}{after})"

    return "".join(map(whole, facts))


@contextmanager
def refused(kind: type[Exception] | tuple[type[Exception], ...], *texts: str) -> Iterator[None]:
    """Expect an error of one line that contains these texts."""
    with pytest.raises(kind) as caught:
        yield
    assert all(text in str(caught.value) for text in texts), caught.value
    assert "\n" not in str(caught.value)


def assert_refused(done, *facts: str) -> None:
    """Assert that a run of the program ended with exit code 1 and one line on stderr with these facts."""
    assert done.returncode == 1, done.stderr
    assert re.fullmatch(r"hopbytes: [^\n]+\n", done.stderr), done.stderr
    assert re.match(mentions(*facts), done.stderr), done.stderr
