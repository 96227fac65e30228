"""Opening input: compressed, bounded, damaged, missing, and text that is none."""

import bz2
import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import time

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.paths import file_with
from hopbytes.errors import FormatError, HopbytesError
from hopbytes.formats.files import open_source
from hopbytes.text import open_input
from hopbytes.text.open_input import plain_name

TEXT = b"0 1 5\n1 0 7\n" * 2000


def content(path, **options):
    with open_source(path, **options) as source:
        return source.stream.read()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress, bz2.compress])
def test_compression_is_recognised_by_content_alone(tmp_path, pack):
    path = file_with(tmp_path / "pattern.edges", pack(TEXT))
    assert content(path) == TEXT


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_the_mark_that_editors_of_windows_put_before_utf8_is_no_content(tmp_path, pack):
    path = file_with(tmp_path / "pattern.edges", pack(b"\xef\xbb\xbf" + TEXT))
    assert content(path) == TEXT


def test_head_does_not_consume(tmp_path):
    path = file_with(tmp_path / "a", gzip.compress(TEXT, mtime=0))
    with open_source(path) as source:
        assert source.head() == TEXT[:4096]
        assert source.stream.read() == TEXT


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_a_bomb_stops_at_the_limit(tmp_path, pack):
    path = file_with(tmp_path / "bomb", pack(b" " * 10_000_000))
    with pytest.raises(FormatError, match=mentions("1000000")):
        content(path, max_bytes=1_000_000)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_as_many_bytes_as_are_allowed(tmp_path, pack):
    stored = pack(TEXT)
    path = file_with(tmp_path / "a", stored)
    with open_source(path, max_bytes=len(TEXT)) as source:
        assert source.stream.read() == TEXT
        assert source.size == (len(TEXT) if pack is bytes else None)
    with pytest.raises(FormatError, match=mentions(str(len(TEXT) - 1))):
        content(path, max_bytes=len(TEXT) - 1)


def test_compressed_bytes_that_become_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(open_input, "NEVER_REFUSED", 3000)
    for stored, made in ((10, 3000), (30, 3000), (31, 3100)):
        open_input.check_expansion("x", stored, made, open_input.MAX_BYTES)
        open_input.check_expansion("x", stored, made + 1, open_input.MAX_BYTES - 1)
        with pytest.raises(FormatError, match=mentions("x", str(stored), str(made + 1), "100")):
            open_input.check_expansion("x", stored, made + 1, open_input.MAX_BYTES)
    path = file_with(tmp_path / "bomb", gzip.compress(b" " * 4_000_000))
    with pytest.raises(FormatError, match=mentions("100", "`max_bytes`")):
        content(path)
    assert len(content(path, max_bytes=4_000_000)) == 4_000_000


@pytest.mark.parametrize(("name", "data", "facts"), [
    ("a", b"", "expected some content"), ("a", gzip.compress(b"", mtime=0), "expected some content"),
    ("a", b"\xef\xbb\xbf", "UTF-8"), ("a", gzip.compress(b"\xef\xbb\xbf", mtime=0), "UTF-8"),
    ("a", "\ufeff0 1 5\n".encode("utf-16-le"), "UTF-16 UTF-8"),
    ("a", "\ufeff0 1 5\n".encode("utf-16-be"), "UTF-16 UTF-8"),
    ("a.graph.gz", TEXT, "does not start like a gzip file"),
])  # fmt: skip
def test_content_that_is_none(tmp_path, name, data, facts):
    with pytest.raises(FormatError, match=mentions(*facts.split())):
        content(file_with(tmp_path / name, data))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_xml_says_itself_that_it_is_utf16(tmp_path, encoding):
    path = file_with(tmp_path / "a", "\ufeff<a/>".encode(encoding))
    assert content(path) == path.read_bytes()


def test_an_endless_file_stops_at_the_limit():
    with subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE) as endless:
        with pytest.raises(FormatError, match=mentions("3000000")):
            content(f"/dev/fd/{endless.stdout.fileno()}", max_bytes=3_000_000)
        endless.kill()


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
@pytest.mark.parametrize("damage", [lambda b: b[:-30], lambda b: b[:40] + b"\0\xff" * 20 + b[80:]])
def test_damaged_compression_is_said(tmp_path, pack, damage):
    path = file_with(tmp_path / "a.graph", damage(pack(os.urandom(4000))))
    with pytest.raises(FormatError, match=mentions("a.graph")):
        content(path)


@pytest.mark.parametrize(
    ("beginning", "program"), [("28b52ffd", "zstd"), ("04224d18", "lz4"), ("1f9d", "uncompress")]
)
@pytest.mark.parametrize("name", ["a.graph", "a.graph.zst", "a"])
def test_other_compressions_are_named(tmp_path, beginning, program, name):
    path = file_with(tmp_path / name, bytes.fromhex(beginning) + b"\x04\x00" * 40)
    with pytest.raises(FormatError, match=mentions(name, "gzip", program)):
        hb.read_pattern(path)


@pytest.mark.parametrize(("name", "facts"), [
    (".", "a directory, expected a file"), ("nowhere", "nowhere: cannot be read: No such file"),
    ("a\0b", "not a file name"), ("x" * 300, "cannot be read"), ("", "'' empty -"),
    (3, "int"), (None, "NoneType"), (b"a", "bytes"),
])  # fmt: skip
def test_names_of_no_file(tmp_path, monkeypatch, name, facts):
    """An empty one is that of a variable of the shell that is not set."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HopbytesError, match=mentions(*facts.split())):
        content(name)


def test_a_name_of_a_regular_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    open_input.check_file(str(tmp_path / "absent"))
    open_input.check_file(str(file_with(tmp_path / "a", "x")))
    for name, kind in ((".", "a directory"), ("pipe", "a pipe or a device")):
        with pytest.raises(FormatError, match=mentions(kind)):
            open_input.check_file(str(tmp_path / name))


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT, mtime=0))))
    with open_source("-") as source:
        assert (source.name, source.size) == ("standard input", None)
        assert source.path is None
        assert source.stream.read() == TEXT


def test_closed_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FormatError, match="standard input: closed"):
        content("-")


def test_text_names_the_line_that_is_not_text(tmp_path):
    path = file_with(tmp_path / "a", b"fine\nalso\nna\xefve\n")
    with open_source(path) as source, pytest.raises(FormatError, match="a:3: byte 0xef"):
        source.text()


@pytest.mark.parametrize(("name", "plain"), [("a.graph.xz", "a.graph"), ("A.GZ", "A"), ("a.gr", "a.gr")])
def test_plain_name(name, plain):
    assert plain_name(name) == plain


SECRET = "root:x:0:0:very-secret"
KINDS = (
    "table", "hwloc", "slurm", "links", "nvidia", "labels", "scotch", "simgrid", "topograph", "machine",
    "job",
)  # fmt: skip


def mapping_file(folder, spec):
    """Write a mapping whose machine has this spec."""
    path = folder / "m.json"
    mapping = hb.map_tasks("stencil:2x2", "node:2@10 core:2@1", "fast")
    hb.write(mapping, path)
    record = json.loads(path.read_text())
    record["machine"] = spec
    path.write_text(json.dumps(record))
    return path


def machine_file(folder, spec, name="x.machine.json"):
    path = folder / name
    record = {"kind": "hopbytes machine", "version": 1, "spec": spec, "levels": []}
    path.write_text(json.dumps(record))
    return path


@pytest.fixture
def secret(tmp_path):
    return file_with(tmp_path / "secret.txt", SECRET + "\n")


@pytest.fixture
def inner(tmp_path):
    (tmp_path / "inner").mkdir()
    return tmp_path / "inner"


@pytest.mark.parametrize("kind", KINDS)
def test_a_mapping_reads_no_file_of_another_folder(inner, secret, kind):
    alike = inner.with_name("inner-more")  # its name begins with that of the mapping's folder
    alike.mkdir()
    (alike / "secret.txt").write_bytes(secret.read_bytes())
    for spec in (f"{kind}:{secret}", f"{kind}:{inner}/../secret.txt", f"{kind}:{alike}/secret.txt"):
        with pytest.raises(HopbytesError) as raised:
            hb.read_mapping(mapping_file(inner, spec))
        assert "secret" not in str(raised.value).replace("secret.txt", "")
        assert "folder" in str(raised.value)


@pytest.mark.parametrize("kind", KINDS)
def test_messages_show_nothing_of_a_file_in_the_same_folder(tmp_path, secret, kind):
    with pytest.raises(HopbytesError) as raised:
        hb.read_mapping(mapping_file(tmp_path, f"{kind}:{secret}"))
    assert "very" not in str(raised.value)
    assert "root" not in str(raised.value).replace(str(tmp_path), "")


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_not_waited_for(tmp_path, kind):
    os.mkfifo(tmp_path / "pipe")
    began = time.monotonic()
    for name in ("pipe", "/dev/zero", "."):
        with pytest.raises(HopbytesError):
            hb.read_mapping(mapping_file(tmp_path, f"{kind}:{tmp_path / name}"))
    assert time.monotonic() - began < 5


def test_a_link_out_of_the_folder_is_not_followed(inner, secret):
    (inner / "link").symlink_to(secret)
    with pytest.raises(HopbytesError, match="folder"):
        hb.read_mapping(mapping_file(inner, f"table:{inner / 'link'}"))


def test_a_machine_that_names_itself_or_a_chain(tmp_path):
    own = machine_file(tmp_path, f"machine:{tmp_path}/x.machine.json")
    with pytest.raises(HopbytesError, match="name no others") as raised:
        hb.allocate(str(own))
    assert len(str(raised.value)) < 1000
    (tmp_path / "t.txt").write_text("0 1\n1 0\n")
    machine_file(tmp_path, f"table:{tmp_path}/t.txt", "b.machine.json")
    with pytest.raises(HopbytesError, match=r"b\.machine\.json, which cannot be read"):
        hb.allocate(str(machine_file(tmp_path, f"machine:{tmp_path}/b.machine.json", "a.machine.json")))


def test_files_beside_are_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("0 1 2 2\n1 0 2 2\n2 2 0 1\n2 2 1 0\n")
    mapping = hb.map_tasks("stencil:2x2", "table:t.txt", "fast")
    hb.write(mapping, "m.json")
    assert hb.read_mapping("m.json").pe.tolist() == mapping.pe.tolist()
    assert hb.allocate(str(machine_file(tmp_path, "table:t.txt"))).k == 4
    (tmp_path / "a.pattern").write_bytes(b"")
    hb.write(hb.read_pattern("stencil:2x2"), "b.csv")
    (tmp_path / "c.programs").write_text("program b.csv ./a\nprogram b.csv ./b\n")
    assert hb.read_pattern("c.programs").n == 8


def test_programs_are_read_by_the_same_rules(inner, secret):
    os.mkfifo(inner / "pipe")
    for name in ("../secret.txt", str(secret), "pipe", "/dev/zero"):
        (inner / "c.programs").write_text(f"program {name} ./a\nprogram stencil:2 ./b\n")
        with pytest.raises(HopbytesError) as raised:
            hb.read_pattern(inner / "c.programs")
        assert "very" not in str(raised.value)


# ------------------------------------------------------------ given on the command line


def test_a_pipe_without_a_writer_is_not_waited_for_long(tmp_path, monkeypatch):
    monkeypatch.setattr(open_input, "PIPE_SECONDS", 0.2)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="no process writes"):
        hb.read(tmp_path / "pipe")
    for spec in ("hwloc:", "slurm:", "table:", "job:", "links:", ""):
        with pytest.raises(HopbytesError):
            hb.allocate(f"{spec}{tmp_path / 'pipe'}")


def test_a_pipe_with_a_slow_writer_is_read(hopbytes, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    pid = os.fork()
    if not pid:
        try:
            with open(tmp_path / "pipe", "wb") as pipe:
                time.sleep(0.3)
                pipe.write(b"0,1,5\n")
                pipe.flush()
                time.sleep(0.3)
                pipe.write(b"1,0,5\n")
        finally:
            os._exit(0)  # also after an error: this process must not go on as a second pytest
    try:
        assert hb.read(tmp_path / "pipe", "edges").m == 2
    finally:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert hopbytes("show", "-", "--input-format", "csv", stdin="0,5\n5,0\n").returncode == 0


def test_devices_and_folders_are_said(tmp_path):
    with pytest.raises(FormatError, match="a device"):
        hb.read("/dev/zero")
    with pytest.raises(FormatError, match="a directory"):
        hb.read(tmp_path)
    with pytest.raises(FormatError, match=mentions("expected a file")):
        hb.allocate(f"job:{tmp_path}/")
