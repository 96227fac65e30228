"""The order of a run as a trace: recorded under real MPI, read again and replayed."""

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


@pytest.mark.parametrize(("kind", "native"), [
    (0, "bcast 8 2 6"), (1, "reduce 8 0 2 6"), (2, "gather 8 8 2 6 6"), (3, "scatter 8 8 2 6 6"),
    (4, "allreduce 8 0 6"), (5, "allgather 8 8 6 6"),
    (7, "alltoall 8 8 6 6"), (8, "scan 8 0 6"), (9, "barrier"),
])  # fmt: skip
def test_collectives_of_all_ranks_are_those_of_simgrid(tmp_path, kind, native):
    """Some libraries know the bytes at some ranks only; those without a root name none."""
    root = 2 if kind < 4 else -1
    steps(tmp_path, *(f"c {root} {kind} 0 {8 * (own != 1)}" for own in range(3)))
    actions, notices = read_order(str(tmp_path), 3, 10)
    assert [own[2:-2] for own in actions] == [[f"{rank} {native}"] for rank in range(3)]
    assert [own[:2] + own[-2:] for own in actions] == [
        [f"{rank} init", f"{rank} comm_size 3", f"{rank} waitall", f"{rank} finalize"] for rank in range(3)
    ]
    assert not notices


def test_collectives_of_unequal_sizes_are_messages(tmp_path):
    """Gather of 8, 16 and 24 bytes at rank 1, blocks of an all-to-all, and twice the same communicator."""
    texts = [
        f"c 1 2 0 {8 * (own + 1)};a 0 0 0 0;b {(own + 1) % 3} 0 0 {own + 1};b {own} 0 0 9" for own in range(3)
    ]
    steps(tmp_path, *texts)
    (tmp_path / "order.2.txt").write_text((tmp_path / "order.2.txt").read_text().replace("end 0", "end 4"))
    actions, notices = read_order(str(tmp_path), 3, 10)
    assert notices == ["the trace lacks 4 one-sided transfers"]
    sent, got = [], []
    for own, lines in enumerate(actions):
        words = [line.split() for line in lines[2:-2]]
        sent += [(own, int(peer), int(size), tag) for _, way, peer, tag, size, _ in
                 (line for line in words if len(line) == 6) if way == "isend"]  # fmt: skip
        got += [(int(peer), own, int(size), tag) for _, way, peer, tag, size, _ in
                (line for line in words if len(line) == 6) if way == "irecv"]  # fmt: skip
        waits = {tuple(line[2:]) for line in words if line[1] == "wait"}
        assert waits == {(str(a), str(b), tag) for a, b, _, tag in [*sent, *got] if own in (a, b)} - {
            (str(a), str(b), tag) for a, b, _, tag in [*sent, *got] if own not in (a, b)
        }
    assert sorted(sent) == sorted(got)
    assert len({tag for *_, tag in sent}) == len(sent)
    pairs = sorted((a, b, size) for a, b, size, _ in sent)
    assert pairs == sorted([(0, 1, 8), (2, 1, 24), (0, 1, 1), (1, 2, 2), (2, 0, 3)])


def test_a_communicator_between_two_groups_is_left_out(tmp_path):
    for own in range(2):
        (tmp_path / f"order.{own}.txt").write_text("g 0 0 0 1\ng 1 1 0 1\nc 0 0 1 8\nf -1 -1 0 5\nend 0\n")
    actions, notices = read_order(str(tmp_path), 2, 10)
    assert [len(own) for own in actions] == [4, 4]
    assert notices == ["the trace lacks 2 parts of collectives of which not all are known"]
