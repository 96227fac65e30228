"""The order of a run as a trace: recorded under real MPI, read again and replayed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.graphs import arcs_of
from helpers.real_mpi import FAMILIES, program_of
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.record.order import check_folder, read_order, write_trace
from hopbytes.record.session import record

SOURCE = Path(__file__).parent / "ordered.c"
MEGABYTE = 1_000_000
needs_simgrid = pytest.mark.skipif(shutil.which("smpirun") is None, reason="needs SimGrid's smpirun")


@pytest.mark.launcher
@pytest.mark.usefixtures("mpi_folder")
@pytest.mark.parametrize("family", FAMILIES)
def test_a_chain_stays_a_chain(family, tmp_path):
    """Each message waits for the one before: four in a row, where the pattern alone sends all at once."""
    launch, compiler, program = program_of(family, SOURCE)
    done = record([*launch, program], compiler=compiler, trace=str(tmp_path / "trace"))
    assert done.graph is not None, done.problem
    assert done.trace, done.graph.meta.get("notices")
    graph = hb.read(done.trace)
    exchanged = {(rank, rank ^ 1): 10 for rank in range(4)}
    chain = {(rank, (rank + 1) % 4): MEGABYTE for rank in range(4)}
    expected = {pair: chain.get(pair, 0) + exchanged.get(pair, 0) for pair in chain | exchanged}
    expected |= {(2, 0): 100, (3, 1): 100, (0, 3): 8}
    assert arcs_of(graph) == expected
    first = (tmp_path / "trace" / "trace1.txt").read_text().splitlines()
    assert first.index(f"1 wait 0 1 {sent_tag(first, 'irecv 0')}") < position(first, "isend 2")
    assert any(action.endswith("allreduce 4 0 6") for action in first)
    if shutil.which("smpirun"):
        where = hb.allocate("node:4@10:bw=1e9:lat=0 core:1")
        mapping = hb.Mapping(range(4), where)
        found = hb.simulate(graph, mapping, grade="replay")
        assert found.seconds == pytest.approx(4e-3, rel=0.01)
        assert hb.simulate(graph, mapping, grade="replay", iterations=1).seconds < 1.2e-3
        twice = hb.simulate(graph, mapping, grade="replay", bytes_scale=2)
        assert twice.seconds == pytest.approx(8e-3, rel=0.01)


def position(actions, words):
    """Return the place of the first action with these words after its rank."""
    return next(at for at, action in enumerate(actions) if action.split(" ", 1)[1].startswith(words))


def sent_tag(actions, words):
    """Return the tag of the first action with these words."""
    return actions[position(actions, words)].split()[3]


@pytest.mark.launcher
@pytest.mark.usefixtures("mpi_folder")
def test_what_a_trace_lacks_is_said(tmp_path):
    launch, compiler, program = program_of("openmpi 4.1", SOURCE)
    done = record([*launch, program, "lost"], compiler=compiler, trace=str(tmp_path / "one"))
    assert "the trace lacks 1 sends without a receive" in done.graph.meta["notices"]
    few = record([*launch, program], compiler=compiler, trace=str(tmp_path / "few"), trace_steps=3)
    assert not few.trace
    assert not (tmp_path / "few").exists()
    assert few.graph.m
    assert any("more than 3 steps" in notice for notice in few.graph.meta["notices"])


def steps(folder, *texts):
    """Write the steps of ranks, which all have one communicator."""
    for own, text in enumerate(texts):
        members = " ".join(map(str, range(len(texts))))
        body = "".join(f"{line}\n" for line in text.split(";") if line)
        (folder / f"order.{own}.txt").write_text(f"g 0 0 {members}\n{body}end 0\n")


def test_messages_of_two_tags_are_not_confused(tmp_path):
    """The receiver completes the second message first."""
    steps(tmp_path, "s 1 7 0 100;s 1 8 0 200", "p 0 8 0 0;p 0 7 0 0;w 0 8 0 0;w 0 7 0 1")
    actions, notices = read_order(str(tmp_path), 2, 10)
    sent, got = actions
    tags = {int(action.split()[4]): action.split()[3] for action in sent if "isend" in action}
    assert got[2].split()[3:5] == [tags[200], "200"]
    assert got[4] == f"1 wait 0 1 {tags[200]}"
    assert not notices


def test_collectives_that_lack_a_rank_are_left_out(tmp_path):
    steps(tmp_path, "c 0 0 0 64", "")
    _, notices = read_order(str(tmp_path), 2, 10)
    assert notices == ["the trace lacks 1 parts of collectives of which not all are known"]


@pytest.mark.parametrize("text", ["x", "s 1 2", "s one 2 0 4"])
def test_damaged_steps(tmp_path, text):
    steps(tmp_path, text)
    with pytest.raises(FormatError, match=r"order\.0\.txt:2"):
        read_order(str(tmp_path), 1, 10)
    (tmp_path / "order.0.txt").write_text("s 1 2 0 3\n")
    with pytest.raises(FormatError, match="incomplete"):
        read_order(str(tmp_path), 1, 10)
    steps(tmp_path, "")
    with pytest.raises(FormatError, match=r"order\.1"):
        read_order(str(tmp_path), 2, 10)


def test_a_folder_with_files_is_kept(tmp_path):
    check_folder(str(tmp_path / "new"))
    (tmp_path / "other").write_text("mine")
    with pytest.raises(UnsupportedError, match="not empty"):
        check_folder(str(tmp_path))
    with pytest.raises(UnsupportedError, match="other"):
        write_trace([["0 init"]], str(tmp_path / "other" / "deeper"))


def test_sends_wait_as_the_program_did(tmp_path):
    """A blocking send, one that waits for its receiver, and a request that is waited for."""
    received = ["p 0 7 0 0"] * 4 + [f"w 0 7 0 {number}" for number in range(4)]
    sent = "S 1 7 0 1;Y 1 7 0 2;s 1 7 0 3;y 1 7 0 4;f -1 -1 0 3;f -1 -1 0 2"
    steps(tmp_path, sent, ";".join(received))
    (sent, got), notices = read_order(str(tmp_path), 2, 10)
    assert [action.split()[4] for action in got if "irecv" in action] == ["1", "2", "3", "4"]
    assert [action.split()[1] for action in sent[2:6]] == ["send", "ssend", "isend", "issend"]
    tags = [action.split()[3] for action in sent[2:6]]
    assert sent[6:8] == [f"0 wait 0 1 {tags[3]}", f"0 wait 0 1 {tags[2]}"]
    assert not notices


def test_the_first_steps_are_kept_without_what_has_no_partner(tmp_path):
    """At least 64 steps of each of many ranks; more steps than were allowed are no error then."""
    received = [f"p 0 7 0 0;w 0 7 0 {number}" for number in range(5)]
    steps(tmp_path, ";".join(["s 1 7 0 8"] * 40_000), ";".join(received))
    file = tmp_path / "order.0.txt"
    file.write_text(file.read_text().replace("end 0", "over 0"))
    with pytest.raises(FormatError, match="more than"):
        read_order(str(tmp_path), 2, 40_000)
    (sent, got), notices = read_order(str(tmp_path), 2, None)
    assert len(sent) == len(got) - 5 == 2 + 5 + 2
    assert notices == ["the trace lacks 32763 sends without a receive"]


def test_collectives_of_some_ranks_are_rounds(tmp_path):
    """A broadcast among three of four ranks: the second round waits for the first."""
    for own in range(4):
        body = "" if own == 3 else "c 0 0 1 8\n"
        (tmp_path / f"order.{own}.txt").write_text(f"g 0 0 0 1 2 3\ng 1 0 0 1 2\n{body}end 0\n")
    (root, *_), notices = read_order(str(tmp_path), 4, 10)
    assert [action.split()[1] for action in root[2:-2]] == ["isend", "wait", "isend", "wait"]
    assert not notices
