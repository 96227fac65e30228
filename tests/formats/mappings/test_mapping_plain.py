"""One PE per line: what is written comes back, and bad input is refused by its line."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.placements import mappings, read, write
from hopbytes.errors import FormatError
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation


@given(mappings())
@settings(deadline=None, max_examples=50)
def test_plain_comes_back(mapping):
    text = write("plain", mapping).files[""]
    assert np.array_equal(read("plain", text), mapping.pe)
    again = read("plain", text, where=mapping.where, n=mapping.n)
    assert np.array_equal(again.pe, mapping.pe)
    assert again.where is mapping.where


def test_plain_skips_comments_and_blank_lines_and_takes_any_line_end():
    assert read("plain", "# a\n% b\n\n0\r\n 2 \n1").tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\n1\nx\n", "file:3: 'x', expected the number of a PE"),
        ("0\n-1\n", "file:2: '-1', expected the number of a PE"),
        ("0\n1.5\n", "file:2: '1.5', expected the number of a PE"),
        ("0\n1 2\n3\n", "file:2: '1 2', expected the number of a PE"),
        ("0 1\n\n2\n", "file:1: '0 1', expected the number of a PE"),
        ("0\n9\n1\n", "file:2: PE 9, expected one of 0..3"),
        ("0\n99999999999999999999\n", "file:2: '99999999999999999999', expected the number of a PE"),
        ("0\n1\n", "file: 2 lines with a PE, expected 3, one for each task"),
        ("# nothing\n", "file: 0 lines with a PE, expected 3, one for each task"),
        (b"\x00\xff\n", "file:1: '\\x00\\\\xff', expected the number of a PE"),
    ],
)
def test_plain_names_the_bad_line(text, message):
    where = Allocation.whole(parse_machine("core:4"))
    with pytest.raises(FormatError) as caught:
        read("plain", text, where=where, n=3)
    assert str(caught.value) == message


@given(st.binary(max_size=200))
def test_plain_never_fails_in_another_way(data):
    try:
        pe = read("plain", data)
    except FormatError:
        return
    assert pe.dtype == np.int32
