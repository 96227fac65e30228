"""What a caller does to its own arrays later changes nothing, and ends no process."""

import copy
import mmap
import pickle
import threading

import numpy as np
import pytest

import hopbytes as hb
from helpers.core_functions import LevelGraph, move_synchronously
from hopbytes.engine.problem import SearchProblem
from hopbytes.kernels import comm_cost_table, csr_from_arcs
from hopbytes.kernels.base import USE_REFERENCE
from hopbytes.kernels.records import Csr, Distances
from hopbytes.machines.distances import TableDistance
from hopbytes.machines.kinds.table import Table

WILD = 12345678
#: A ring of four tasks in both directions.
INDPTR, TARGETS = [0, 2, 4, 6, 8], [1, 3, 0, 2, 1, 3, 0, 2]


def of_memoryview(array):
    return np.frombuffer(memoryview(bytearray(array.tobytes())), array.dtype)


def of_mapped_file(array):
    mapped = mmap.mmap(-1, array.nbytes)
    mapped[:] = array.tobytes()
    return np.frombuffer(mapped, array.dtype)


class WithWriter(np.ndarray):
    """An array that carries another one over the same memory."""


def of_frozen_base(array):
    base = array.copy().view(WithWriter)
    base.writer = np.asarray(base)
    base.setflags(write=False)
    return base


SOURCES = {
    "the array": np.copy,
    "a view": lambda array: array.copy()[:],
    "a memory view": of_memoryview,
    "a mapped file": of_mapped_file,
    "a frozen array": of_frozen_base,
}


def spoil(array):
    """Write a wild number into every entry of the memory of an array."""
    writer = getattr(array, "writer", array)
    writer[...] = WILD


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("spoilt", ["indptr", "targets", "volumes", "messages", "loads"])
def test_a_pattern_keeps_no_memory_of_its_caller(source, spoilt):
    arrays = {
        "indptr": np.array(INDPTR), "targets": np.array(TARGETS, np.int32), "volumes": np.full(8, 3),
        "messages": np.full(8, 2), "loads": np.ones(4, np.int64),
    }  # fmt: skip
    before = hb.map_tasks(hb.CommGraph(**arrays), "core:4", "fast")
    arrays[spoilt] = source(arrays[spoilt])
    graph = hb.CommGraph(**arrays)
    spoil(arrays[spoilt])
    assert hb.map_tasks(graph, "core:4", "fast").pe.tolist() == before.pe.tolist()
    assert graph.total_volume == int(graph.volumes.sum()) == 24


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_mapping_keeps_no_memory_of_its_caller(source, kind):
    graph = hb.CommGraph.from_dense(np.ones((4, 4)) - np.eye(4))
    pe = source(np.arange(4, dtype=kind))
    mapping = hb.Mapping(pe, hb.allocate("node:2@10 core:2@1"))
    spoil(pe)
    assert hb.evaluate(graph, mapping).comm_cost == 8 * 10 + 4 * 1


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("name", ["core_start", "cores", "capacity"])
def test_an_allocation_keeps_no_memory_of_its_caller(source, name):
    whole = hb.allocate("node:2@10 core:2@1")
    arrays = {"core_start": np.arange(5), "cores": np.arange(4), "capacity": np.ones(4, np.int64)}
    arrays[name] = source(arrays[name])
    where = hb.Allocation(whole.machine, **arrays)
    spoil(arrays[name])
    assert hb.map_tasks("stencil:2x2", where, "fast").n == 4
    assert getattr(where, name).max() < WILD


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
@pytest.mark.parametrize("kind", [Table, TableDistance])
def test_a_table_keeps_no_memory_of_its_caller(source, kind):
    flat = source(np.abs(np.subtract.outer(np.arange(4), np.arange(4))).reshape(-1))
    table = np.asarray(flat).reshape(4, 4)
    kept = kind(table)
    spoil(flat)
    assert int(kept.table.max()) == 3


def test_bounds_keep_no_memory_of_their_caller():
    load = np.full(4, 7)
    bounds = hb.Bounds(load)
    load[:] = WILD
    assert bounds.load.tolist() == [7] * 4


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, pickled])
def test_copies_cannot_be_written_either(copied):
    mapping = copied(hb.map_tasks("stencil:4x4", "node:2@10 core:8@1", "fast"))
    graph = copied(hb.CommGraph(np.array(INDPTR), np.array(TARGETS, np.int32)))
    for array in (mapping.pe, mapping.where.cores, mapping.where.core_start, graph.indptr, graph.targets):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.setflags(write=True)


def test_a_buffer_that_a_thread_reuses_is_read_once():
    """Sources and targets may change at any moment; either they are refused, or a valid graph comes out."""
    targets, over = np.zeros(20_000, np.int32), threading.Event()
    sources = np.arange(20_000, dtype=np.int32)

    def reuse():
        while not over.is_set():
            targets[:] = 2**31 - 5
            targets[:] = 0

    thread = threading.Thread(target=reuse)
    thread.start()
    try:
        for _ in range(100):
            try:
                graph = hb.CommGraph.from_edges(sources, targets, n=20_000)
            except hb.FormatError:
                continue
            assert int(graph.targets.max()) < graph.n
    finally:
        over.set()
        thread.join()


@pytest.mark.skipif(USE_REFERENCE, reason="of the compiled core")
def test_compiled_calls_refuse_what_does_not_fit_together():
    indptr, targets = np.array(INDPTR), np.array(TARGETS, np.int32)
    pe, wild = np.zeros(4, np.int32), np.full(8, WILD, np.int32)
    table = np.zeros(16, np.int64)
    with pytest.raises(ValueError, match="targets outside"):
        comm_cost_table(Csr(indptr, wild, None), pe, table)
    with pytest.raises(ValueError, match="PEs outside"):
        comm_cost_table(Csr(indptr, targets, None), wild[:4], table)
    with pytest.raises(ValueError, match="rows of a graph"):
        comm_cost_table(Csr(indptr[::-1].copy(), targets, None), pe, table)
    with pytest.raises(ValueError, match="sources outside"):
        csr_from_arcs(4, wild, targets, None, None)
    distances = Distances(np.zeros(2, np.uint64), np.zeros(65, np.int64))
    level = LevelGraph(SearchProblem(Csr(indptr, targets, None), None, distances))
    with pytest.raises(ValueError, match="PEs outside"):
        move_synchronously(level, np.full(4, 9000, np.int32), np.zeros(4, np.uint8), np.full(2, 9), 1)
