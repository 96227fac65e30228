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


@pytest.mark.parametrize(("name", "text", "lines"), [
    ("--a-long-name", "Its meaning.", ["  --a-long-name", "          Its", "          meaning."]),
    ("--seven", "It", ["  --seven", "          It"]), ("--five", "It", ["  --five  It"]),
    ("-o", "Well-known words", ["  -o      Well-known", "          words"]), ("-o", "", ["  -o"]),
    ("--seven", "", ["  --seven"]),
])  # fmt: skip
def test_a_name_that_is_too_long_stands_above_its_meaning(name, text, lines):
    assert entry_lines(name, text, 20, 10) == lines


@pytest.mark.parametrize(("columns", "used"), [("10", 40), ("70", 70), ("500", 100)])
def test_the_width_has_bounds(monkeypatch, columns, used):
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == used
