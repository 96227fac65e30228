"""Files are replaced as a whole, and only our own."""

from __future__ import annotations

import gzip
import lzma
import os
import stat

import pytest

from helpers.paths import file_with
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import MARK
from hopbytes.formats.files import atomic_write, check_writable, is_ours, may_write

TEXT = b"0 1 5\n1 0 7\n" * 2000


def test_writing_is_all_or_nothing(tmp_path):
    """The second file fails half way, so the first must not appear either and the old one must survive."""
    old = file_with(tmp_path / "second", "old")

    def failing():
        yield b"half"
        raise ValueError("the writer failed")

    with pytest.raises(ValueError, match="the writer failed"):
        atomic_write({str(tmp_path / "first"): "new", str(old): failing()})
    assert old.read_text() == "old"
    assert os.listdir(tmp_path) == ["second"]


UNPACK = [("", bytes), (".gz", gzip.decompress), (".xz", lzma.decompress)]


@pytest.mark.parametrize(("suffix", "unpack"), UNPACK)
def test_written_content_returns(tmp_path, suffix, unpack):
    path = tmp_path / f"a{suffix}"
    atomic_write({str(path): [TEXT[:100], TEXT[100:]]})
    first = path.read_bytes()
    assert unpack(first) == TEXT
    atomic_write({str(path): TEXT})
    assert unpack(path.read_bytes()) == TEXT


def test_a_link_keeps_pointing(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    atomic_write({str(tmp_path / "link"): "new"})
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_devices_are_written_directly():
    atomic_write({"/dev/null": "gone"})
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_missing_folder(tmp_path):
    with pytest.raises(UnsupportedError, match="cannot be written: No such file"):
        atomic_write({str(tmp_path / "no" / "a"): "x"})


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_only_our_files_are_overwritten(tmp_path, pack):
    path = file_with(tmp_path / "a", pack(f"# {MARK} 0.1\n0\n".encode()))
    assert is_ours(str(path))
    may_write(str(path))
    path.write_bytes(pack(b"# somebody's results\n0\n"))
    with pytest.raises(UnsupportedError, match="does not say 'written by hopbytes'"):
        may_write(str(path))
    may_write(str(path), force=True)
    may_write(str(tmp_path / "new"))


def test_a_read_only_disk_is_not_called_a_permission(tmp_path, monkeypatch):
    class Disk:
        f_flag = os.ST_RDONLY

    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UnsupportedError, match="no permission for the folder"):
        check_writable(str(tmp_path / "x.json"))
    monkeypatch.setattr(os, "statvfs", lambda _: Disk)
    with pytest.raises(UnsupportedError, match="read-only disk"):
        check_writable(str(tmp_path / "x.json"))
