"""Mappings written and read by several processes; evaluation over processes."""

import numpy as np
import pytest

import hopbytes as hb
from helpers.slabs import part_of
from helpers.together import together
from hopbytes.errors import HopbytesError
from hopbytes.mpi import (
    DistributedMapping,
    evaluate_distributed,
    read_distributed,
    write_distributed,
)

WHERE = hb.allocate("node:2@10 core:3@1")
GRAPH = hb.read("stencil:9x7:bytes=4")
PE = (np.arange(63) * 6 // 63).astype(np.int32)


def written(size, path, **options):
    def work(comm):
        rank = comm.Get_rank()
        own = PE[63 * rank // size : 63 * (rank + 1) // size]
        mapping = DistributedMapping(own, 63 * rank // size, 63, WHERE, {})
        write_distributed(comm, mapping, str(path), **options)

    together(size, work)


def read_by(size, path, n=63):
    parts = together(
        size, lambda comm: read_distributed(
            comm, str(path), n * (comm.Get_rank() + 1) // size - n * comm.Get_rank() // size
        )
    )
    return np.concatenate(parts).tolist()


@pytest.mark.parametrize("size", [1, 3, 8, 70])
@pytest.mark.parametrize("name", ["a.txt", "a.npy"])
def test_round_trip(tmp_path, size, name, monkeypatch):
    monkeypatch.setattr("hopbytes.mpi.distributed.files.LINES_AT_ONCE", 5)
    path = tmp_path / name
    written(size, path)
    assert [each.name for each in tmp_path.iterdir()] == [name]
    found = np.load(path) if name == "a.npy" else hb.read(path, "plain", holds="mapping")
    assert np.asarray(found).tolist() == PE.tolist()
    for other in (1, 4, 70):
        assert read_by(other, path) == PE.tolist()


def test_an_old_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("mine\n")
    with pytest.raises(HopbytesError, match="exists"):
        written(3, path)
    monkeypatch.setattr("hopbytes.mpi.distributed.files._write_at", full)
    with pytest.raises(HopbytesError, match="No space left"):
        written(3, path, force=True)
    assert path.read_text() == "mine\n"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
    monkeypatch.undo()
    written(3, path, force=True)
    assert len(path.read_text().splitlines()) == 63
    with pytest.raises(HopbytesError, match="missing"):
        written(2, tmp_path / "no" / "a.txt")


def full(path, at, pieces):
    if at:
        raise OSError(28, "No space left on device", path)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"1\n2\n", "2 lines with a PE, expected 63"), (b"1\nx\n", "expected the number of a PE"),
     (b"9999999999\n" * 63, "expected numbers from 0"), (b"\x93NUMPY\x01\x00v\x00{}", "the file ends")],
)  # fmt: skip
def test_a_malformed_mapping(tmp_path, content, said):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(HopbytesError, match=said):
        read_by(3, path)


def test_arrays_of_other_kinds(tmp_path):
    for number, array in enumerate((PE.astype(np.int64), PE[:-1], PE.reshape(9, 7))):
        path = tmp_path / f"{number}.npy"
        np.save(path, array)
        with pytest.raises(HopbytesError, match="expected"):
            read_by(2, path)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_evaluation_is_that_of_the_whole_graph(size):
    expected = hb.evaluate(GRAPH, hb.Mapping(PE, WHERE))

    def work(comm):
        rank = comm.Get_rank()
        own = PE[63 * rank // size : 63 * (rank + 1) // size]
        return evaluate_distributed(comm, part_of(GRAPH, rank, size), own, WHERE)

    for found in together(size, work):
        assert found["comm_cost"] == expected.comm_cost
        apart = PE[GRAPH.sources()] != PE[GRAPH.targets]
        assert (found["cut"], found["volume"]) == (4 * int(apart.sum()), GRAPH.total_volume)
        volumes = found["volume_by_distance"].items()
        assert sum(int(distance) * volume for distance, volume in volumes) == found["comm_cost"]
        assert (found["empty"], found["largest_load"]) == (0, 11)


def test_evaluation_refuses_what_is_no_mapping():
    def work(comm):
        rank = comm.Get_rank()
        own = PE[63 * rank // 2 : 63 * (rank + 1) // 2]
        with pytest.raises(HopbytesError) as caught:
            evaluate_distributed(comm, part_of(GRAPH, rank, 2), own + 9 * rank, WHERE)
        with pytest.raises(HopbytesError):
            evaluate_distributed(comm, part_of(GRAPH, rank, 2), own[rank:], WHERE)
        return str(caught.value)

    assert together(2, work) == ["rank 1: a PE outside 0..5"] * 2
