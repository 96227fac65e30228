"""Files of fixed and forbidden places: what they say, and every way to get them wrong."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.errors import mentions
from helpers.paths import file_with
from hopbytes.errors import FormatError
from hopbytes.formats.task_places import read_fixed, read_forbidden


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = file_with(tmp_path / "places", text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_fixed_places(file):
    path = file("# who stays\n0 3\n\n  2-3,5   1\n% done\n")
    assert read_fixed(path, 7, 4).tolist() == [3, -1, 1, 1, -1, 1, -1]
    assert read_fixed(file("* 2\n"), 3, 4).tolist() == [2, 2, 2]
    assert read_fixed(file("0 1\n0 1\n"), 1, 2).tolist() == [1]


def test_forbidden_places(file):
    pairs = read_forbidden(file("0 1,3\n* 2\n"), 2, 4)
    assert pairs.tolist() == [[0, 1], [0, 3], [0, 2], [1, 2]]


def test_compressed_files_are_read(tmp_path):
    path = file_with(tmp_path / "places.gz", gzip.compress(b"1 0\n"))
    assert read_fixed(path, 2, 1).tolist() == [-1, 0]


@pytest.mark.parametrize(("text", "line", "what"), [
    ("0 1\n1\n", 2, "1 word expected tasks and PEs"),
    ("0 1 2\n", 1, "3 words"),
    ("7 1\n", 1, "7 0..6"),
    ("0 4\n", 1, "4 0..3"),
    ("0-9 1\n", 1, "task 9"),
    ("3-1 1\n", 1, "'3-1'"),
    ("a 1\n", 1, "'a'"),
    ("-1 1\n", 1, "'-1'"),
    ("0 1.5\n", 1, "'1.5'"),
    ("0, 1\n", 1, "'' expected a task"),
    ("99999999999999999999 1\n", 1, "expected a task"),
    ("0 1-2\n", 1, "2 PEs expected the one"),
    ("0-2 1\n1 2\n", 2, "1 2"),
    (b"\xff\x00 1\n", 1, "xff"),
    (b"0 1" + b" " * (1 << 20) + b"\n", 1, "the line has more than"),
])  # fmt: skip
def test_faults_are_named_with_their_line(file, text, line, what):
    path = file(text)
    with pytest.raises(FormatError, match=mentions(*what.split())) as caught:
        read_fixed(path, 7, 4)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_a_file_that_forbids_too_much_is_refused_before_memory_is_spent(file):
    with pytest.raises(FormatError, match="pairs of a task and a PE"):
        read_forbidden(file("* *\n"), 10**5, 10**5)


@given(st.binary(max_size=60))
def test_no_text_crashes(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("places") / "file"
    path.write_bytes(text)
    for read in (read_fixed, read_forbidden):
        try:
            found = read(path, 5, 5)
        except FormatError:
            continue
        assert np.all(found < 5)
