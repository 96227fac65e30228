"""The start of a binary file is recognised by its own format, and by no format for text."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import zipfile

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.errors import FormatError
from hopbytes.formats.base import HEAD_BYTES, formats
from hopbytes.formats.recognition import fits, is_binary


def parhip(n: int, narrow: int, step: int = 2) -> bytes:
    """The start of a ParHIP file: flags, the numbers of vertices and arcs, offsets, some neighbours."""
    offset, target = (4 if narrow & bit else 8 for bit in (4, 8))
    begin = 24 + offset * (n + 1)
    offsets = begin + target * step * np.arange(n + 1)
    parts = [np.array([3 | narrow, n, step * n], "<u8"), offsets.astype(f"<u{offset}")]
    parts.append((np.arange(step * n) % max(n, 1)).astype(f"<u{target}"))
    return b"".join(part.tobytes() for part in parts)


def zipped(member: str, content: bytes) -> bytes:
    stored = io.BytesIO()
    with zipfile.ZipFile(stored, "w") as archive:
        archive.writestr(member, content)
    return stored.getvalue()


def heads() -> dict[str, tuple[str | None, bytes]]:
    """The format and the start of a file of every kind."""
    kinds = {
        f"parhip of {n} vertices with {step} neighbours, widths {narrow}": ("parhip", parhip(n, narrow, step))
        for n in (1, 9, 10, 13, 100, 266, 27_000) for narrow in range(0, 64, 4) for step in (1, 6)
    }  # fmt: skip
    array = io.BytesIO()
    np.save(array, np.arange(2_000))
    kinds["npz"] = "npz", zipped("indptr.npy", array.getvalue())
    kinds["pattern"] = "pattern", zipped("header.json", b'{"n": 2}')
    kinds["another zip archive"] = None, zipped("readme.txt", b"1 2\n" * 9)
    kinds["an array alone"] = None, array.getvalue()
    kinds["OTF2"] = "otf2", b"\x03BOTF2\0\3\2\2" + struct.pack("<QQ", 4096, 4) + b"Score-P 3.0\0"
    kinds["HDF5"] = None, b"\x89HDF\r\n\x1a\n" + bytes(8) + b"\x04\0\x10\0" + b"\xff" * 16 + b"1 2\n" * 900
    kinds["DUMPI"] = None, b"\xff\xaa\xddDUMPI\0\0\0\1" + b"1 2\n" * 9
    kinds["numbers of 32 bits"] = None, np.arange(2_000, dtype="<i4").tobytes()
    kinds["numbers of 64 bits"] = None, np.arange(2_000, dtype="<i8").tobytes()
    kinds["decimals"] = None, np.linspace(0, 1, 900).tobytes()
    kinds["pickle"] = None, b"\x80\x05\x95\x0b\0\0\0\0\0\0\0]\x94(K\x01K\x02e." + b"1 2\n" * 9
    text = b"".join(b"%d %d %d\n" % (i, i * i % 997, i * i * i) for i in range(3_000))
    kinds |= {f"{c.__name__} inside": (None, c.compress(text)) for c in (gzip, lzma, bz2)}
    return {name: (kind, content[:HEAD_BYTES]) for name, (kind, content) in kinds.items()}


HEADS = heads()


@pytest.mark.parametrize("name", ["x.bin", "x.txt", "mpich_rank_order"])
def test_only_its_own_format_recognises_binary_content(name):
    for what, (own, head) in HEADS.items():
        found = [key for key, format in formats.items() if fits(format, name, head)]
        assert found == [own] * (own is not None), what


def test_formats_of_binary_content_are_those_with_a_head_here():
    binary = {key for key, format in formats.items() if format.binary}
    assert binary == {own for own, _ in HEADS.values() if own is not None}


def test_a_binary_graph_whose_start_has_few_line_ends_is_read(tmp_path):
    """The start of this file has one line end, so it looked like the first row of a large matrix, too."""
    side = 30
    vertex = np.arange(side**3).reshape(side, side, side)
    source = np.concatenate([vertex[1:].ravel(), vertex[:, 1:].ravel(), vertex[:, :, 1:].ravel()])
    target = np.concatenate([vertex[:-1].ravel(), vertex[:, :-1].ravel(), vertex[:, :, :-1].ravel()])
    graph = hb.CommGraph.from_edges(np.r_[source, target], np.r_[target, source])
    path = tmp_path / "grid.bin"
    hb.write(graph, path, "parhip")
    assert hb.read(path).n == side**3


@pytest.mark.parametrize("what", ["HDF5", "numbers of 64 bits"])
def test_unknown_binary_content_is_refused_with_the_binary_formats(tmp_path, what):
    path = tmp_path / "x.bin"
    path.write_bytes(HEADS[what][1])
    with pytest.raises(FormatError, match=mentions("x.bin", "not text", "npz, otf2, parhip, pattern")):
        hb.read(path)


def test_text_may_have_what_terminals_and_printers_interpret():
    log = b"\x1b[1mhost:1:1 [0] NCCL INFO\x1b[0m Channel 00/0 : 0[0] -> 1[1] via P2P\r\n\f\b\a\v\xe9\n"
    assert not is_binary(log)
    assert is_binary(log + b"\0")
