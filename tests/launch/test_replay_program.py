"""The program that replays a pattern, on threads whose messages take known times."""

import json
import sys
import types
from collections import Counter

import numpy as np
import pytest

from helpers.threads_as_mpi import started
from hopbytes.launch import replay_program as program

ARCS = [(0, 1, 4000), (0, 2, 100), (2, 0, 3000), (2, 3, 7000), (3, 3, 50), (0, 1, 10)]


@pytest.fixture
def pattern(tmp_path):
    """The file of :data:`ARCS` among four ranks."""
    arcs = sorted(ARCS)
    begins = np.searchsorted([source for source, *_ in arcs], range(5))
    words = [4, len(arcs), *begins, *(number for _, to, size in arcs for number in (to, size))]
    np.array(words, np.int64).tofile(tmp_path / "pattern")
    return str(tmp_path / "pattern")


def test_all_messages_are_sent_in_every_round_and_the_slowest_rank_counts(pattern, monkeypatch, capsys):
    """A first message between two ranks takes a second more, and no round that counts sees one."""
    met = set()

    def cost(a, b, size):
        first = (a, b) not in met
        met.add((a, b))
        return size * 1e-6 + first

    codes, world = started(monkeypatch, 4, cost, lambda: program.main([pattern, "3"]))
    assert codes == [0] * 4
    assert Counter(world.sent) == dict.fromkeys(ARCS, 4)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == program.UNDER_WAY
    assert json.loads(lines[1].removeprefix(program.MARK)) == {"seconds": pytest.approx([7e-3] * 3)}
    assert len(lines) == 2


@pytest.mark.parametrize(("size", "said"), [
    (1, program.LONE + "Some MPI 4\n"), (3, "3 processes, expected 4 as in the pattern\n"),
])  # fmt: skip
def test_another_number_of_processes_is_said_once(pattern, monkeypatch, capsys, size, said):
    codes, world = started(monkeypatch, size, None, lambda: program.main([pattern, "3"]))
    assert (codes, world.sent) == ([1] * size, [])
    assert "".join(capsys.readouterr()) == said


def test_without_mpi4py_the_reason_is_said(pattern, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mpi4py", types.ModuleType("mpi4py"))
    monkeypatch.delitem(sys.modules, "mpi4py.MPI", raising=False)
    assert program.main([pattern, "1"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(program.LACKING + "cannot import name 'MPI'")
    assert len(line) <= 200 + len(program.LACKING)
