"""Damaged and hostile content ends in one line with the file's name, whatever exception is behind it."""

import contextlib
import gzip
import io
import json
import random
import zipfile

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.errors import LONGEST_MESSAGE, FormatError, HopbytesError
from hopbytes.text import open_input

DIGITS = "9" * 5000


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


@pytest.mark.parametrize("cut", [8, 10, 20, 60, 100])
def test_cut_headers_of_arrays(tmp_path, cut):
    whole = npy(np.arange(5))
    for content in (whole[:cut], whole[:10] + b"{'descr': '<i8', 'shape': (((" + whole[40:]):
        with pytest.raises(FormatError, match=r"a\.npz"):
            hb.read(archive(tmp_path / "a.npz", indptr=content, targets=content))


TEXTS = {
    "a.platform.xml": '<platform version="4.1"><zone id="z" routing="Full"><cluster id="c" prefix="n" '
    f'suffix="" radical="0-{DIGITS}" speed="1Gf" bw="{DIGITS}Bps" lat="1us"/></zone></platform>',
    "topology.conf": f"SwitchName=s1 Nodes=n[1-{DIGITS}]\n",
    "a.graph": f"{DIGITS} 1\n",
    "a.csv": f"0,{DIGITS}\n1,0\n",
    "a.mtx": f"%%MatrixMarket matrix coordinate real general\n{DIGITS} 2 1\n1 2 3\n",
    "a.ti": f"0 init\n0 send 1 0 {DIGITS} 0\n",
    "table.txt": f"0 {DIGITS}\n1 0\n",
    "a.machine.json": '{"kind": "hopbytes machine", "version": 1, "nodes": %s}' % ("[" * 2000),
    "links.txt": f"link a b {DIGITS}\nlink b a 1e{DIGITS}\n",
}


@pytest.mark.parametrize("name", TEXTS)
def test_numbers_of_thousands_of_digits(tmp_path, name):
    path = tmp_path / name
    path.write_text(TEXTS[name])
    for spec in (str(path), *(f"{kind}:{path}" for kind in ("simgrid", "slurm", "table", "links"))):
        with pytest.raises(HopbytesError) as raised:
            hb.allocate(spec)
        assert len(str(raised.value)) <= LONGEST_MESSAGE + 10
    with pytest.raises(HopbytesError) as raised:
        hb.read(path)
    assert len(str(raised.value)) <= LONGEST_MESSAGE + 10


@pytest.mark.parametrize("name", [DIGITS, f"s{DIGITS}", "٣٤"])
def test_tables_of_hosts_with_odd_names(tmp_path, name):
    path = tmp_path / "hosts.csv"
    path.write_text(f"node,group,switch\nn1,{name},a\nn2,b,{name}\n")
    assert hb.allocate("dragonfly:2x2x1", hosts=str(path)).k == 2


def test_a_streamed_neighbour_beyond_31_bits(tmp_path):
    path = tmp_path / "g.parhip"
    hb.write(hb.CommGraph.from_edges([0, 1], [1, 2], undirected=True), path, format="parhip")
    data = bytearray(path.read_bytes())
    data[-4:] = (2**31 + 5).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(FormatError, match="neighbour"):
        hb.map_stream(path, "core:2")


@pytest.mark.parametrize("odd", ["many", [1], {"a": 1}, None, 1.5, "9" * 4000])
def test_a_mapping_with_odd_facts_has_a_text(odd):
    facts = dict.fromkeys(("comm_cost", "seed", "mapper", "preset"), odd)
    mapping = hb.Mapping([0, 1], hb.allocate("core:2"), facts)
    assert "2 tasks" in repr(mapping)
    assert "2 tasks" in mapping._repr_html_()


# ------------------------------------------------------------ memory


def test_a_compressed_file_that_expands_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(open_input, "NEVER_REFUSED", 10**5)
    path = tmp_path / "g.graph.gz"
    path.write_bytes(gzip.compress(b"400000 0\n" + b"\n" * 400_000))
    with pytest.raises(FormatError, match="compressed bytes become"):
        hb.read(path)
    assert hb.read(path, max_bytes=10**6).n == 400_000
    zeros = npy(np.zeros(10**6, np.int64))
    with pytest.raises(FormatError, match="compressed bytes become"):
        hb.read(archive(tmp_path / "a.npz", indptr=zeros, targets=zeros))


def test_arrays_count_before_they_are_made(tmp_path, monkeypatch):
    monkeypatch.setattr("hopbytes.formats.patterns.metis.NEVER_REFUSED", 10**5)
    path = tmp_path / "g.graph.gz"
    path.write_bytes(gzip.compress(b"400000 0\n" + b"\n" * 400_000))
    with pytest.raises(FormatError, match="bytes of memory"):
        hb.read(path, max_bytes=410_000)
    path.with_suffix("").write_bytes(b"400000 0\n" + b"\n" * 400_000)
    with pytest.raises(FormatError, match="bytes of memory"):
        hb.read(path.with_suffix(""), max_bytes=410_000)


def test_messages_are_bounded(tmp_path):
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"kind": "hopbytes mapping", "x" * 10**6: 1}))
    calls = (lambda: hb.read_mapping(path), lambda: hb.allocate("y" * 10**6), lambda: hb.read("z" * 10**6))
    for call in calls:
        with pytest.raises(HopbytesError) as raised:
            call()
        assert len(str(raised.value)) <= LONGEST_MESSAGE + 10


@pytest.mark.parametrize("kind", ["npz", "pattern", "parhip", "mtx", "csv", "graph", "json", "edges"])
def test_random_damage_ends_in_one_line(tmp_path, kind):
    chosen = random.Random(kind)
    path = tmp_path / f"g.{kind}"
    graph = hb.CommGraph.from_edges([0, 1, 2, 3], [1, 2, 3, 0], [5, 6, 7, 8], undirected=True)
    if kind == "json":
        hb.write(hb.map_tasks(graph, "node:2 core:2", "fast"), path)
    elif kind == "edges":
        path.write_text("0 1 5\n1 2 6\n")
    else:
        hb.write(graph, path)
    whole = path.read_bytes()
    for _ in range(150):
        damaged = bytearray(whole)
        for _ in range(chosen.randrange(1, 6)):
            place = chosen.randrange(len(damaged))
            damaged[place] = chosen.choice([0, 255, 57, 45, 10, chosen.randrange(256)])
        if chosen.random() < 0.3:
            del damaged[chosen.randrange(len(damaged)) :]
        path.write_bytes(damaged)
        with contextlib.suppress(HopbytesError):  # no other exception
            repr(hb.read(path))
