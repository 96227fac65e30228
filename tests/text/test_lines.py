"""Lines of text files: their numbers, their longest length, and the order of names with numbers."""

import io

import pytest

from helpers.errors import mentions
from helpers.paths import file_with
from hopbytes.errors import FormatError
from hopbytes.text import lines
from hopbytes.text.lines import Lines, natural_key, read_bytes, read_lines, text_lines


def test_lines_have_no_ends(tmp_path):
    path = str(file_with(tmp_path / "a", "one\r\ntwo\n\nfour"))
    assert read_lines(path, longest=4) == ["one", "two", "", "four"]
    assert text_lines(b"\xff\r\n", "x") == ["\ufffd", ""]
    assert read_bytes(path, max_bytes=14) == b"one\r\ntwo\n\nfour"
    with pytest.raises(FormatError, match=mentions("13")):
        read_bytes(path, max_bytes=13)


@pytest.mark.parametrize(("data", "words"), [
    (b"\0", "x:1 NUL"), (b"a\nb\nc\0\nd\0", "x:3 NUL"), (b"four\nafive\n", "x:2 5 4"),
])  # fmt: skip
def test_faults_of_lines(data, words):
    with pytest.raises(FormatError, match=mentions(*words.split())):
        text_lines(data, "x", longest=4)


def test_the_longest_record(monkeypatch):
    monkeypatch.setattr(lines, "LONGEST_RECORD", 4)
    read = Lines(io.BytesIO(b"abc\n\nabc\nab"), "x")
    assert [(read.number, line) for line in read] == [(1, b"abc\n"), (2, b"\n"), (3, b"abc\n"), (4, b"ab")]
    with pytest.raises(FormatError, match=mentions("x:2", "4")):
        list(Lines(io.BytesIO(b"abc\nabcd\n"), "x"))


def test_the_natural_order_of_names():
    names = ["x1" + "0" * 18, "x" + "9" * 18, "n10a11", "n10a2", "n10", "n2", "n02x", "n", "1"]
    assert sorted(names, key=natural_key) == names[::-1]
