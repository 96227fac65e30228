"""The binary ParHIP layout: all widths of numbers are read, what is written is read again."""

import gzip
import tracemalloc

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import file_with
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.exchange import symmetrized
from hopbytes.formats.patterns import parhip


def layout(flags, *, loads=None, weights=None, targets=(1, 0, 2, 1)):
    """The path 0 - 1 - 2, with the widths that the flags say."""
    wide = [4 if flags & bit else 8 for bit in (4, 8, 16, 32)]
    begin = 24 + 4 * wide[0]
    offsets = [begin + wide[1] * each for each in (0, 1, 3, 4)]
    parts = [np.array([flags, 3, 4], "<u8"), np.array(offsets, f"<u{wide[0]}")]
    parts.append(np.array(targets, f"<u{wide[1]}"))
    if loads is not None:
        parts.append(np.array(loads, f"<i{wide[2]}"))
    if weights is not None:
        parts.append(np.array(weights, f"<i{wide[3]}"))
    return b"".join(part.tobytes() for part in parts)


@pytest.mark.parametrize("narrow", range(16))
def test_every_width_is_read(tmp_path, narrow):
    path = file_with(tmp_path / "g.parhip", layout(4 * narrow, loads=[5, 0, 7], weights=[3, 3, 9, 9]))
    graph = hb.read(path)
    assert graph.targets.tolist() == [1, 0, 2, 1]
    assert graph.arc_volumes().tolist() == [3, 3, 9, 9]
    assert graph.task_loads().tolist() == [5, 0, 7]
    path.write_bytes(layout(4 * narrow + 3))
    graph = hb.read(path)
    assert (graph.volumes, graph.loads, graph.undirected) == (None, None, True)


def test_flags_of_a_later_layout_are_not_taken_for_this_one():
    form = parhip.Parhip()
    known = [form.sniff("x", layout(flags, targets=range(4))) for flags in (3, 63, 64, 67)]
    assert known == [True, True, False, False]


def test_rows_may_be_in_any_order(tmp_path):
    path = file_with(tmp_path / "g.bgf", layout(2, weights=[3, 9, 3, 9], targets=(1, 2, 0, 1)))
    graph = hb.read(path)
    assert graph.targets.tolist() == [1, 0, 2, 1]
    assert graph.arc_volumes().tolist() == [3, 3, 9, 9]


@pytest.mark.parametrize(
    ("targets", "weights"),
    [((1, 0, 2, 0), None), ((1, 0, 0, 1), None), ((1, 1, 2, 1), None), ((1, 0, 3, 1), None),
     ((1, 0, 2, 1), [3, 3, 9, 8]), ((1, 0, 2, 1), [3, 3, -9, -9])],
)
def test_a_graph_that_is_none_is_an_error(tmp_path, targets, weights):
    path = tmp_path / "bad.parhip"
    path.write_bytes(layout(3 if weights is None else 2, weights=weights, targets=targets))
    with pytest.raises(FormatError) as error:
        hb.read(path)
    assert str(error.value).startswith(f"{path}: ")


def test_what_is_written_is_read_again_and_recognised_by_content(tmp_path):
    graph = hb.CommGraph.from_edges([0, 1, 2], [1, 0, 2], [7, 7, 4], n=4, loads=np.array([1, 2, 3, 4]))
    with pytest.raises(UnsupportedError, match="symmetric"):
        hb.write(hb.CommGraph.from_edges([0], [1], [7]), tmp_path / "one.parhip")
    hb.write(graph, tmp_path / "g.parhip")
    (tmp_path / "g.parhip").rename(tmp_path / "unnamed")
    again = hb.read(tmp_path / "unnamed")
    assert again.targets.tolist() == [1, 0]
    assert again.arc_volumes().tolist() == [7, 7]
    assert again.task_loads().tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_of_several_pieces_is_read(tmp_path, monkeypatch, compressed):
    monkeypatch.setattr(parhip, "NUMBERS_PER_PIECE", 3)
    path = tmp_path / ("ring.parhip.gz" if compressed else "ring.parhip")
    task = np.arange(100)
    after = (task + 1) % 100
    ring = hb.CommGraph.from_edges(np.r_[task, after], np.r_[after, task], np.full(200, 3))
    hb.write(ring, path, format="parhip", symmetrize=True)
    assert symmetrized(ring)[0].undirected
    graph = hb.read(path)
    assert graph.targets.tolist() == ring.targets.tolist()
    whole = gzip.decompress(path.read_bytes()) if compressed else path.read_bytes()
    short = tmp_path / ("short.parhip.gz" if compressed else "short.parhip")
    short.write_bytes(gzip.compress(whole[:-8]) if compressed else whole[:-8])
    with pytest.raises(FormatError):
        hb.read(short)


def test_reading_takes_little_more_than_the_arrays_of_the_graph(tmp_path):
    path = tmp_path / "band.parhip"
    near, step = (each.ravel() for each in np.meshgrid(np.arange(100_000), np.arange(1, 9)))
    far = (near + step) % 100_000
    band = hb.CommGraph.from_edges(np.r_[near, far], np.r_[far, near], np.full(2 * len(near), 5))
    hb.write(band, path, format="parhip", symmetrize=True)
    hb.read(path)  # imports
    tracemalloc.start()
    graph = hb.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    held = sum(each.nbytes for each in (graph.indptr, graph.targets, graph.volumes) if each is not None)
    assert peak < 1.25 * held + 2**22  # buffers of the stream
