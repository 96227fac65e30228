"""Sets of CPU numbers: what is written is read again, and the largest numbers that are read."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.errors import mentions
from hopbytes.errors import FormatError
from hopbytes.text.cpu_lists import MAX_PUS, format_list, number_range, parse_cpuset, parse_list

SETS = st.sets(st.integers(0, 200) | st.integers(MAX_PUS - 40, MAX_PUS - 1), max_size=30)


@given(SETS)
@example({0, 1, MAX_PUS - 1})
def test_sets_are_read_as_they_are_written(numbers):
    text = format_list(numbers)
    assert parse_list(text, "here") == numbers
    assert text.count(",") <= len({number - place for place, number in enumerate(sorted(numbers))})
    value = sum(1 << number for number in numbers)
    words = [f"0x{value >> 32 * word & 0xFFFFFFFF:08x}" for word in reversed(range(MAX_PUS // 32))]
    assert parse_cpuset(",".join(words), "here") == numbers
    assert parse_cpuset(",".join("" if int(word, 16) == 0 else word[2:] for word in words), "x") == numbers


def test_all_higher_numbers():
    assert parse_cpuset("0xf...f,0x00000005,0", "here") == {32, 34, *range(64, MAX_PUS)}
    assert parse_cpuset("0xf...f", "here") == set(range(MAX_PUS))


@pytest.mark.parametrize(("word", "numbers"), [
    ("7", range(7, 8)), (" 3-3 ", range(3, 4)), ("123456789", range(123456789, 123456790)),
    ("1234567890", None), ("1-1234567890", None), ("1234567890-1", None), ("4-3", None), ("-3", None),
    ("3-", None), ("", None),
])  # fmt: skip
def test_ranges_of_numbers(word, numbers):
    assert number_range(word) == numbers


@pytest.mark.parametrize(("read", "text", "words"), [
    (parse_list, f"0,{MAX_PUS}", "here:3 0-3,8"), (parse_list, "0-1,x", "here:3 0-1,x"),
    (parse_list, f"4-{MAX_PUS}", "here:3"), (parse_cpuset, ",".join(["0"] * 2049), "here:3 2049 2048"),
    (parse_cpuset, "0x1,0x123456789", "here:3 0x123456789"), (parse_cpuset, "1,0xf...f", "here:3"),
    *((parse_cpuset, text, "here:3") for text in ("x", "0x1 0x2", "-1", "0xf...f0")),
])  # fmt: skip
def test_faults_of_sets(read, text, words):
    with pytest.raises(FormatError, match=mentions(*words.split())):
        read(text, "here", 3)
