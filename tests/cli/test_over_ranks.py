"""Verbs on all processes of an MPI job, which are threads here (also hopbytes.cli.verb_map)."""

import json
import threading

import numpy as np
import pytest

import hopbytes as hb
from helpers.together import together
from hopbytes.cli import over_ranks
from hopbytes.cli.app import answer
from hopbytes.errors import HopbytesError

own = threading.local()


class Request:
    """A barrier that only the processes in it pass."""

    def __init__(self, board, size):
        self.board, self.size = board, size

    def Test(self):  # noqa: N802 (as in mpi4py)
        return len(self.board) >= self.size


@pytest.fixture
def ranks(monkeypatch):
    """Run a function in three processes; return what each returns, or its exit code, and who aborted."""
    arrived, aborted = [], []

    class World:
        def __getattr__(self, name):
            return getattr(own.comm, name)

        def Ibarrier(self):  # noqa: N802
            arrived.append(self.Get_rank())
            return Request(arrived, 3)

        def Abort(self, code):  # noqa: N802
            aborted.append((self.Get_rank(), code))

    monkeypatch.setattr(over_ranks, "world", World)
    monkeypatch.setattr(over_ranks, "PATIENCE", 0.3)
    monkeypatch.setattr(over_ranks, "SETTLE", 0.0)

    def run(work):
        def one(comm):
            own.comm = comm
            try:
                return work()
            except SystemExit as end:
                return f"exit {end.code}"

        arrived.clear()
        return together(3, one), sorted(aborted)

    return run


def test_a_graph_is_mapped_and_evaluated_by_all_and_told_once(ranks, tmp_path, capsys):
    graph, found, on = "grid:24x24", str(tmp_path / "found.txt"), "node:3@10 core:4@1"
    words = ["map", graph, "--distributed", "--on", on, "-o", found, "--preset", "fast"]
    assert ranks(lambda: answer(words)) == ([0, 0, 0], [])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("partition: J ") == 1
    pe = np.loadtxt(found, dtype=np.int32)
    cost = hb.evaluate(hb.read("stencil:24x24:bytes=1"), hb.Mapping(pe, hb.allocate(on))).comm_cost
    assert f"J {cost:,}; 576 tasks on 12 slots, at most {np.bincount(pe).max()} of 49 each; 3 ranks, " in err
    assert ranks(lambda: answer(["eval", graph, found, "--distributed", "--on", on, "--json"]))[0] == [0] * 3
    record = json.loads(capsys.readouterr().out)
    assert (record["comm_cost"], record["ranks"], record["empty"]) == (cost, 3, 0)
    assert ranks(lambda: answer(["eval", graph, found, "--distributed", "--on", on]))[0] == [0] * 3
    share = 100 * record["cut"] / record["volume"]
    assert capsys.readouterr().out.startswith(f"J {cost:,}; {share:.1f} % of the volume between PEs")
    assert ranks(lambda: answer([*words, "--json", "--force", "--strategy", "levels"]))[0] == [0] * 3
    record = json.loads(capsys.readouterr().out)
    assert (record["strategy"], record["tasks"], record["pes"]) == ("levels", 576, 12)
    assert ranks(lambda: answer([*words, "--quiet", "--force"]))[0] == [0] * 3
    assert capsys.readouterr() == ("", "")


def test_an_error_of_all_is_said_once_and_one_of_a_single_process_ends_all(ranks, capsys):
    everyone = ["map", "grid:4x4", "--distributed", "--on", "core:zwei"]
    assert ranks(lambda: answer(everyone)) == (["exit 1"] * 3, [])
    err = capsys.readouterr().err
    assert err.count("hopbytes:") == 1
    assert "zwei" in err

    def failing(error, only=None):
        def work(comm, machine):
            if only in (None, comm.Get_rank()):
                raise error
            return "kept"

        return ranks(lambda: over_ranks.run_on_all(work, None))

    assert failing(HopbytesError("alone"), 2) == (["kept", None, "exit 1"], [(2, 1)])
    assert capsys.readouterr().err == "hopbytes: rank 2: alone\n"
    _, aborted = failing(ValueError("odd"), 1)
    assert aborted == [(1, 1), (2, 1)]
    assert capsys.readouterr().err.startswith("hopbytes: rank 1: ValueError: odd (test_over_ranks.py:")
    failing(KeyboardInterrupt(), 0)
    assert capsys.readouterr().err == "hopbytes: rank 0: interrupted\n"


@pytest.mark.parametrize(("words", "said"), [
    (["--passes", "2"], "--passes needs --stream"),
    (["--distributed", "--strategy", "scenic"], "unknown strategy"),
    (["--stream", "--processes"], "--stream and --processes exclude each other"),
    (["--distributed", "grid:5x5"], "one graph is streamed or distributed"),
    (["--distributed", "--processes", "--on", "core:3"], "expected at most one for each of the 3 slots"),
])  # fmt: skip
def test_options_without_a_meaning_are_refused(ranks, capsys, words, said):
    on = [] if "--on" in words else ["--on", "node:3@10 core:4@1"]
    codes, _ = ranks(lambda: answer(["map", "grid:4x4", *on, *words]))
    assert set(codes) <= {"exit 1", 1, 2}
    assert said in capsys.readouterr().err
