"""Several programs of one command as one pattern."""

from __future__ import annotations

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import FormatError

LIST = """
# a coupled model
program ocean.edges ./ocean -f "name list"
program stencil:2x1:bytes=7 ./ice   # generated
between coupling.edges
"""


def written(folder, text=LIST):
    (folder / "ocean.edges").write_text("3\n0 1 5 1\n1 2 6 2\n")
    (folder / "coupling.edges").write_text("2 3 9 3\n4 0 8 4\n")
    (folder / "model.programs").write_text(text)
    return folder / "model.programs"


def test_ranks_are_numbered_through(tmp_path):
    graph = hb.read(written(tmp_path))
    assert graph.n == 5
    expected = np.zeros((5, 5), np.int64)
    for source, target, volume in ((0, 1, 5), (1, 2, 6), (3, 4, 7), (4, 3, 7), (2, 3, 9), (4, 0, 8)):
        expected[source, target] = volume
    assert np.array_equal(graph.to_scipy().toarray(), expected)
    assert graph.meta["programs"] == [
        {"command": ["./ocean", "-f", "name list"], "tasks": 3}, {"command": ["./ice"], "tasks": 2},
    ]


def test_it_is_known_by_its_content_and_kept(tmp_path):
    other = tmp_path / "model.txt"
    other.write_text(written(tmp_path).read_text())
    graph = hb.read(other, holds="pattern")
    assert graph.meta["format"] == "programs"
    hb.write(graph, tmp_path / "model.pattern")
    assert hb.read(tmp_path / "model.pattern").meta["programs"] == graph.meta["programs"]


BAD = [
    ("program ocean.edges\n", ":1: 'program ocean.edges', expected `program PATTERN COMMAND`"),
    ("program ocean.edges ./a\nbetween\n", ":2: 'between'"),
    ("program ocean.edges './a\n", ":1: No closing quotation"),
    ("# nothing\n", "no program"),
    ("program stencil:999999999x9 ./a\n", ":1: 'stencil:999999999x9' has 8999999991 ranks, expected at most"),
    ("program alltoall:tasks=99999999 ./a\n", ":1: 'alltoall:tasks=99999999' has 99999999 ranks"),
    ("program absent.edges ./a\nprogramm stencil:2 ./b\n", ":2: 'programm stencil:2 ./b', expected `program"),
    ("program ocean.edges ./a\nbetween coupling.edges\n", ":2: 5 ranks, but the programs have 3"),
    ("program model.programs ./a\n", ":1: model.programs is a list of programs"),
    ("program absent.edges ./a\n", "absent.edges"),
    ("program ocean.edges ./a : -n 2 ./b\n", ":1: './a : -n 2 ./b'"),
    ("program ocean.edges -x LD_PRELOAD=b ./a\n", ":1: '-x LD_PRELOAD=b ./a'"),
    ("program half.edges ./a\nprogram ocean.edges ./b\n", "scales 1, 10"),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_bad_lists_are_explained(tmp_path, text, words):
    (tmp_path / "half.edges").write_text("0 1 0.5\n")
    with pytest.raises(FormatError, match=mentions(words)) as caught:
        hb.read(written(tmp_path, text), "programs")
    assert "\n" not in str(caught.value)
