"""Marks as SVG, PNG and PDF: well-formed, the same bytes each time, words of untrusted names as words."""

import builtins
import struct
import zlib
from xml.etree import ElementTree

import numpy as np
import pytest

import hopbytes as hb
from helpers.errors import mentions
from hopbytes.show.back_ends import check_picture, fragment, picture_bytes, png_of, svg, write_panel
from hopbytes.show.marks import (
    Line,
    Panel,
    Raster,
    Rectangle,
    Words,
    cut,
)

SVG = "{http://www.w3.org/2000/svg}"
GOLDEN = """<?xml version="1.0" encoding="utf-8"?>
<!-- written by hopbytes -->
<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40" viewBox="0 0 80 40" role="img">
<title>all marks</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<g font-family="DejaVu Sans, Verdana, Arial, sans-serif" font-size="11" fill="#24292f">
<rect x="1" y="2" width="30.5" height="4" fill="#cfe3f5" rx="2" stroke="#57606a" stroke-width="0.8"><title>a &lt; b</title></rect>
<path d="M0 0L10 5.3" fill="none" stroke="#57606a" stroke-width="2"/>
<text x="5" y="9" transform="rotate(-90 5 9)" font-size="10" text-anchor="end" fill="#57606a" font-weight="bold">n&amp;1</text>
</g>
</svg>
"""  # noqa: E501
MARKS = (
    Rectangle(1, 2, 30.5, 4, "#cfe3f5", "#57606a", "a < b", 2),
    Line(((0, 0), (10, 5.3)), width=2),
    Words(5, 9, "n&1", 10, "end", "#57606a", bold=True, turned=True),
)
CELLS = np.arange(6, dtype=np.uint8).reshape(2, 3)
COLOURS = tuple(f"#0000{each:02x}" for each in range(6))


def test_golden_svg():
    assert svg(Panel(80, 40, MARKS), "all marks").decode() == GOLDEN
    assert fragment(Panel(80, 40, MARKS), "all marks") == GOLDEN.partition("-->\n")[2]


@pytest.mark.parametrize("sizes", [(80000, 40), (40, 80000)])
def test_a_large_picture_is_shown_smaller(sizes):
    root = ElementTree.fromstring(svg(Panel(*sizes, ()), ""))
    assert max(float(root.get("width")), float(root.get("height"))) == 4000
    assert root.get("viewBox") == "0 0 {} {}".format(*sizes)


def test_words_of_a_picture_are_only_words():
    marks = (Words(0, 0, 'a<b>&"\x1b[0m'), Words(0, 9, "]]>"), Rectangle(0, 0, 1, 1, tip="<x>\x00"))
    root = ElementTree.fromstring(svg(Panel(9, 9, marks), "<&\x07"))
    assert [one.text for one in root.iter(f"{SVG}text")] == ['a<b>&"?[0m', "]]>"]
    assert [one.text for one in root.iter(f"{SVG}title")] == ["<&?", "<x>?"]


def pixels_of(png: bytes) -> np.ndarray:
    """Return the numbers of colours of a PNG of this package, by the specification; checks every sum."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    place, chunks = 8, {}
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        body = png[place + 4 : place + 8 + length]
        assert struct.unpack(">I", png[place + 8 + length : place + 12 + length])[0] == zlib.crc32(body)
        chunks[body[:4]] = body[4:]
        place += 12 + length
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (depth, kind) == (8, 3)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not lines[:, 0].any()
    return lines[:, 1:]


def test_png_holds_every_cell_as_a_block_of_whole_pixels():
    pixels = pixels_of(png_of(CELLS, COLOURS, see_through=True))
    size = pixels.shape[1] // 3
    assert pixels.shape == (2 * size, 3 * size)
    assert size * 3 >= 1024
    assert np.array_equal(pixels, np.kron(CELLS, np.ones((size, size), np.uint8)))


@pytest.mark.parametrize(("suffix", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_files_are_repeatable_and_ours(tmp_path, monkeypatch, suffix, start):
    if suffix != "svg":
        pytest.importorskip("matplotlib")
    monkeypatch.delenv("DISPLAY", raising=False)
    panel = Panel(80, 40, (*MARKS, Raster(0, 0, 30, 20, CELLS, COLOURS, True), Words(9, 9, "3 $ and $")))
    target = tmp_path / f"x.{suffix}"
    for _ in range(2):  # the second time the file is known as ours
        write_panel(panel, str(target))
    assert target.read_bytes().startswith(start)
    assert target.read_bytes() == picture_bytes(panel, str(target))
    (tmp_path / f"theirs.{suffix}").write_text("precious")
    with pytest.raises(hb.UnsupportedError, match="does not say 'written by hopbytes'"):
        write_panel(panel, str(tmp_path / f"theirs.{suffix}"))
    write_panel(panel, str(tmp_path / f"theirs.{suffix}"), force=True)


def test_targets_that_cannot_be_written(tmp_path):
    for name, fault in (("x.bmp", "as .svg, .png, .pdf"), ("no/x.svg", "is missing"), ("d.svg", "a folder")):
        (tmp_path / "d.svg").mkdir(exist_ok=True)
        with pytest.raises(hb.UnsupportedError, match=fault):
            check_picture(str(tmp_path / name))


def test_without_matplotlib_only_svg_is_written(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(hb.MissingPackageError, match=mentions("pip install matplotlib")):
        check_picture("tree.png")
    assert picture_bytes(Panel(1, 1, ()), "tree.svg").startswith(b"<?xml")


@pytest.mark.parametrize("width", range(1, 120, 7))
def test_cut_names_fit(width):
    assert len(cut("compute-node-0017.cluster", width, 9)) * 0.61 * 9 <= width
