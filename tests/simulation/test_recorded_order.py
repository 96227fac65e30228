"""Traces replayed in their own order."""

from __future__ import annotations

import shutil

import pytest

import hopbytes as hb
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.simulation.simgrid import actions_in_order
from hopbytes.simulation.simulate import trace_of

needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SimGrid's smpirun")
SLOW = "node:2@10:bw=1e9:lat=0 core:1"
#: Back and forth: 1 MB each way, one after the other. The sum of both would take the time of one.
BACK_AND_FORTH = """0 init
0 comm_size 2
0 compute 1e12
0 isend 1 5 1000000 6
0 recv 1 6 1000000 6
1 init
1 recv 0 5 1000000 6
1 send 0 6 1e6 6
1 reduce 1 99999999 0 6
0 reduce 1 99999999 0 6
0 finalize
"""


def trace(tmp_path, text):
    path = tmp_path / "all.ti"
    path.write_text(text)
    return str(path)


@needs_simgrid
def test_messages_follow_one_another(tmp_path):
    graph = hb.read(trace(tmp_path, BACK_AND_FORTH))
    mapping = hb.Mapping(range(2), hb.allocate(SLOW))
    found = hb.simulate(graph, mapping, grade="replay")
    assert found.seconds == pytest.approx(2e-3, rel=1e-3)
    assert any("computation is left out" in notice for notice in found.notices)
    assert hb.simulate(graph, mapping, grade="replay", iterations=1).seconds == pytest.approx(1e-3, rel=1e-3)
    assert hb.simulate(graph, mapping, grade="replay", bytes_scale=3).seconds == pytest.approx(6e-3, rel=1e-3)
    assert hb.simulate(graph, mapping, grade="flows").seconds == pytest.approx(1e-3, rel=1e-3)


@needs_simgrid
def test_a_trace_that_waits_forever_is_one_line(tmp_path):
    graph = hb.read(trace(tmp_path, "0 init\n0 comm_size 2\n0 recv 1 5 10 6\n1 init\n1 barrier\n"))
    with pytest.raises(HopbytesError, match="nobody sends") as caught:
        hb.simulate(graph, hb.Mapping(range(2), hb.allocate(SLOW)), grade="replay")
    assert "\n" not in str(caught.value)


def test_actions_are_cleaned(tmp_path):
    """Old sends get a tag, computation goes, and ranks that do not end get an end."""
    path = trace(tmp_path, "0 init\n0 sleep 1\n0 SEND 1 64\n1 init\n1 allreduce 8 1e9 # all\n1 recv 0 64\n")
    assert list(actions_in_order(path, 2)) == [
        "0 init", "0 send 1 0 64", "1 init", "1 allreduce 8 0", "1 recv 0 0 64", "0 finalize", "1 finalize",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "said"),
    [("0 fly 1", "fly"), ("0 send 1 x 3 6", "expected a number"), ("7 init", "expected 0 to 1"),
     ("0 send 1 $(id) 3", "expected a number"), ("1 barrier", "expected init")],
)  # fmt: skip
def test_actions_that_cannot_be_replayed(tmp_path, line, said):
    path = trace(tmp_path, f"0 init\n{line}\n")
    with pytest.raises(FormatError, match=r":2: .*" + said.replace("$", r"\$")):
        list(actions_in_order(path, 2))
    with pytest.raises(HopbytesError, match="1 of 2 ranks"):
        list(actions_in_order(trace(tmp_path, "0 init\n"), 2))


def test_a_trace_that_is_gone(tmp_path):
    path = trace(tmp_path, BACK_AND_FORTH)
    graph = hb.read(path)
    assert trace_of(graph) == path
    assert trace_of(hb.read("stencil:4")) is None
    (tmp_path / "all.ti").unlink()
    with pytest.raises(FormatError, match=r"all\.ti"):
        list(actions_in_order(path, 2))
