"""Opening input: compressed, bounded, damaged, missing, and text that is none."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import subprocess
import sys

import pytest

from helpers.errors import mentions
from hopbytes.errors import FormatError
from hopbytes.formats.files import open_source, plain_name

TEXT = b"0 1 5\n1 0 7\n" * 2000


def content(path, **options):
    with open_source(path, **options) as source:
        return source.stream.read()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_compression_is_recognised_by_content_alone(tmp_path, pack):
    path = tmp_path / "pattern.edges"
    path.write_bytes(pack(TEXT))
    assert content(path) == TEXT


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_mark_that_editors_of_windows_put_before_utf8_is_no_content(tmp_path, pack):
    path = tmp_path / "pattern.edges"
    path.write_bytes(pack(b"\xef\xbb\xbf" + TEXT))
    assert content(path) == TEXT


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_nothing_but_that_mark_is_an_empty_file(tmp_path, pack):
    path = tmp_path / "pattern.edges"
    path.write_bytes(pack(b"\xef\xbb\xbf"))
    with pytest.raises(FormatError, match=mentions("UTF-8")):
        content(path)


def test_head_does_not_consume(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(gzip.compress(TEXT, mtime=0))
    with open_source(path) as source:
        assert source.head() == TEXT[:4096]
        assert source.stream.read() == TEXT


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_bomb_stops_at_the_limit(tmp_path, pack):
    path = tmp_path / "bomb"
    path.write_bytes(pack(b" " * 10_000_000))
    with pytest.raises(FormatError, match=mentions("1000000")):
        content(path, max_bytes=1_000_000)


def test_an_endless_file_stops_at_the_limit():
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as endless:
        with pytest.raises(FormatError, match=mentions("3000000")):
            content(f"/dev/fd/{endless.stdout.fileno()}", max_bytes=3_000_000)
        endless.kill()


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("damage", [lambda b: b[:-30], lambda b: b[:40] + b"\0\xff" * 20 + b[80:]])
def test_damaged_compression_is_said(tmp_path, pack, damage):
    path = tmp_path / "a.graph"
    path.write_bytes(damage(pack(os.urandom(4000))))
    with pytest.raises(FormatError, match=mentions("a.graph")):
        content(path)


def test_a_name_that_promises_compression_is_held_to_it(tmp_path):
    path = tmp_path / "a.graph.gz"
    path.write_bytes(TEXT)
    with pytest.raises(FormatError, match="does not start like a gzip file"):
        content(path)


@pytest.mark.parametrize("data", [b"", gzip.compress(b"", mtime=0)], ids=["plain", "gzip"])
def test_empty(tmp_path, data):
    path = tmp_path / "a"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="expected some content"):
        content(path)


def test_folder_and_missing_and_unreadable(tmp_path):
    with pytest.raises(FormatError, match="a directory, expected a file"):
        content(tmp_path)
    with pytest.raises(FormatError, match="nowhere: cannot be read: No such file"):
        content(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="not a file name"):
        content("a\0b")
    with pytest.raises(FormatError, match="cannot be read"):
        content(tmp_path / ("x" * 300))


def test_an_empty_name():
    """As of a variable of the shell that is not set."""
    with pytest.raises(FormatError, match=mentions("''", "empty", "-")):
        content("")


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT, mtime=0))))
    with open_source("-") as source:
        assert source.name == "standard input"
        assert source.path is None
        assert source.stream.read() == TEXT


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FormatError, match="standard input: closed"):
        content("-")


def test_text_names_the_line_that_is_not_text(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"fine\nalso\nna\xefve\n")
    with open_source(path) as source, pytest.raises(FormatError, match="a:3: byte 0xef"):
        source.text()


@pytest.mark.parametrize(("name", "plain"), [("a.graph.xz", "a.graph"), ("A.GZ", "A"), ("a.gr", "a.gr")])
def test_plain_name(name, plain):
    assert plain_name(name) == plain
