"""Writers that are killed, and several writers of one file: what is there is whole, and nothing beside."""

import concurrent.futures
import contextlib
import fcntl
import gzip
import os
import random
import signal
import subprocess
import sys
import time

import pytest

import hopbytes as hb
from helpers.paths import PROGRAM
from helpers.thorough import most
from hopbytes.formats import files
from hopbytes.text import replace_file as replacing

#: Writes half a file, says so, and waits to be killed. `named`: on file systems that want names.
HALF = """
import sys, time
from hopbytes.formats import files
if {named}:
    import os
    real = os.open
    def named_only(path, flags, *rest, **more):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(95, "not supported")
        return real(path, flags, *rest, **more)
    os.open = named_only
def content():
    yield b"new" * 1_000_000
    print("half", flush=True)
    time.sleep(60)
files.atomic_write({{"first": "complete", "target": content()}})
"""


@contextlib.contextmanager
def half_written(folder, named):
    """Start a writer in a folder that has an old file; it is half done when this returns."""
    (folder / "target").write_text("old")
    program = [sys.executable, "-c", HALF.format(named=named)]
    # Under nohup SIGHUP is ignored, which a program inherits.
    with subprocess.Popen(
        program, cwd=folder, stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL) and None,
    ) as writer:  # fmt: skip
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"half\n"
        yield writer


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_in_the_middle_leaves_the_old_file_and_nothing_else(tmp_path, name, named):
    number = getattr(signal, name)
    with half_written(tmp_path, named) as writer:
        writer.send_signal(number)
    assert writer.returncode == -number
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("target", "old")]


@pytest.mark.parametrize("named", [False, True])
def test_kill_9_leaves_at_most_files_that_say_what_they_are(tmp_path, named):
    with half_written(tmp_path, named) as writer:
        writer.kill()
    assert (tmp_path / "target").read_text() == "old"
    left = sorted(path.name for path in tmp_path.iterdir() if path.name != "target")
    if not named and _unnamed_files(tmp_path):
        assert left == []
    else:
        assert len(left) == 2
        assert all(name.startswith((".first.", ".target.")) and name.endswith(".part") for name in left)


def _unnamed_files(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
    except OSError:
        return False
    return True


def test_an_ignored_signal_stays_ignored(tmp_path):
    """As under nohup."""
    (tmp_path / "target").write_text("old")
    program = HALF.format(named=True).replace("time.sleep(60)", "sys.stdin.readline()")
    nohup = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{program}"
    writer = subprocess.Popen(
        [sys.executable, "-c", nohup], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"half\n"
    writer.send_signal(signal.SIGHUP)
    writer.communicate(b"go on\n", timeout=30)
    assert writer.returncode == 0
    assert (tmp_path / "target").read_bytes() == b"new" * 1_000_000
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "target"]


VERBS = {
    "map": ("map", "stencil:40x40", "--on", "node:4 core:4", "--preset", "fast", "-q", "-o", "out.txt"),
    "convert": ("write", "stencil:1500", "-o", "out.csv", "-q"),
    "write": ("write", "m.json", "--format", "openmpi", "-o", "out", "-q"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("verb", sorted(VERBS))
def test_verbs_killed_at_any_moment(tmp_path, verb):
    """The old files are complete, or the new ones are."""
    where = hb.allocate("node:4 core:16", hosts="a,b,c,d")
    hb.write(hb.map_tasks(hb.read("stencil:8x8"), where, "fast"), tmp_path / "m.json")
    arguments = [PROGRAM, *VERBS[verb]]

    def run(seconds, number):
        started = time.monotonic()
        process = subprocess.Popen(arguments, cwd=tmp_path, stderr=subprocess.DEVNULL)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(number)
        process.wait(60)
        return time.monotonic() - started

    usual = run(60, signal.SIGKILL)
    whole = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    draw = random.Random(verb)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGINT) * most(2, 1):
        run(draw.uniform(0.4, 1.1) * usual, number)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == whole


def test_writers_of_the_same_files_at_once(tmp_path):
    """Each file is one writer's whole, and files of one set are of one writer."""
    program = """
import sys
import hopbytes as hb
from hopbytes.formats import files
from hopbytes.text import replace_file as replacing
hosts = [f"{sys.argv[1]}{i}" for i in range(4)]
where = hb.allocate("node:4 core:16", hosts=hosts)
mapping = hb.map_tasks(hb.read("stencil:8x8"), where, "identity")
print("ready", flush=True)
sys.stdin.readline()
for _ in range(40):
    hb.write(mapping, "rankfile", "openmpi")
"""
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", program, name], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    for writer in writers:
        writer.communicate(timeout=60)
    assert [writer.returncode for writer in writers] == [0, 0]
    rankfile, hosts = (tmp_path / "rankfile").read_text(), (tmp_path / "rankfile.hosts").read_text()
    names = {line.split()[0][0] for line in hosts.splitlines() if not line.startswith("#")}
    assert len(names) == 1
    assert {line.split("=")[1][0] for line in rankfile.splitlines() if line.startswith("rank ")} == names
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rankfile", "rankfile.hosts"]


def test_files_of_a_set_are_put_in_place_with_the_folder_locked(tmp_path, monkeypatch):
    real, locked = os.replace, []

    def replace(source, target):
        with folder_opened(tmp_path) as folder:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                locked.append(os.path.basename(target))
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    files.atomic_write({str(tmp_path / "a"): "1", str(tmp_path / "b"): "2"})
    assert locked == ["a", "b"]


def test_a_folder_that_others_keep_locked_is_written_to_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(replacing, "LONGEST_WAIT", 0.05)
    with folder_opened(tmp_path) as folder:
        fcntl.flock(folder, fcntl.LOCK_EX)
        files.atomic_write({str(tmp_path / "a"): "1"})
    assert (tmp_path / "a").read_text() == "1"


@contextlib.contextmanager
def folder_opened(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def test_a_file_that_cannot_be_given_a_name_later_is_written_again(tmp_path, monkeypatch):
    def link(*arguments, **options):
        raise OSError(1, "not permitted")

    monkeypatch.setattr(os, "link", link)
    files.atomic_write({str(tmp_path / "a.gz"): "many words", str(tmp_path / "b"): b""})
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"many words"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.gz", "b"]


def test_rights_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        files.atomic_write({str(tmp_path / "a"): "1", str(tmp_path / "s"): "2"}, [str(tmp_path / "s")])
    finally:
        os.umask(before)
    assert [oct((tmp_path / name).stat().st_mode & 0o777) for name in "as"] == ["0o640", "0o750"]


def test_a_new_file_that_is_discarded_leaves_nothing(tmp_path, monkeypatch):
    """Also where the file system wants names, and with the rights of the old file until then."""
    target = tmp_path / "target"
    target.write_text("old")
    for mode, unnamed in ((0o640, True), (0o604, False)):
        if not unnamed:
            monkeypatch.delattr(os, "O_TMPFILE")
        target.chmod(mode)
        before = set(os.listdir("/proc/self/fd"))
        part = replacing.Part(str(target), 0o755)
        with part.stream() as stream:
            stream.write(b"new")
            stream.flush()
            assert os.fstat(stream.fileno()).st_mode & 0o777 == mode | 0o100
        assert len(os.listdir(tmp_path)) == 1 + (not unnamed or not _unnamed_files(tmp_path))
        part.discard()
        part.discard()
        assert set(os.listdir("/proc/self/fd")) == before
        assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("target", "old")]


def test_signals_are_watched_only_where_a_process_would_die(monkeypatch):
    def mine(number, frame):
        raise AssertionError

    monkeypatch.setattr(replacing.os, "kill", lambda *killed: dead.append(killed))
    dead, gone = [], []
    part = type("Part", (), {"discard": lambda self: gone.append(self)})()
    before = signal.signal(signal.SIGHUP, mine), signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with replacing.gone_if_killed([part, part]):
            assert signal.getsignal(signal.SIGHUP) is mine
            signal.getsignal(signal.SIGTERM)(signal.SIGTERM, None)
            assert (gone, dead) == ([part, part], [(os.getpid(), signal.SIGTERM)])
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                assert pool.submit(_watched).result() is signal.SIG_DFL
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        assert signal.getsignal(signal.SIGHUP) is mine
    finally:
        signal.signal(signal.SIGHUP, before[0])
        signal.signal(signal.SIGTERM, before[1])


def _watched():
    with replacing.gone_if_killed([]):
        return signal.getsignal(signal.SIGTERM)
