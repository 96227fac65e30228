"""Texts side by side: numbers stand below each other, and no line ends in blanks."""

import pytest

from hopbytes.text.columns import entry_lines, table_lines, width


def test_columns_of_a_table():
    heads = ["instance", "tool", "J", "runs"]
    rows = [heads, ["mesh[1]", "ours", "0.750", "3"], ["a", "theirs:eco", "1", ""]]
    assert table_lines(rows, "<<>") == [
        "instance  tool            J  runs",
        "mesh[1]   ours        0.750     3",
        "a         theirs:eco      1",
    ]
    assert table_lines([["a", "b"]], ">") == ["a  b"]


def test_rows_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="zip"):
        table_lines([["a", "b"], ["c"]])


def test_a_name_that_is_too_long_stands_above_its_meaning():
    above, below = entry_lines("--a-long-name", "Its meaning.", 40, 10)
    assert (above, below) == ("  --a-long-name", " " * 10 + "Its meaning.")


@pytest.mark.parametrize(("columns", "used"), [("10", 40), ("70", 70), ("500", 100)])
def test_the_width_has_bounds(monkeypatch, columns, used):
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == used
