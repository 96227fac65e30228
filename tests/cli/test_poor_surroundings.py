"""Surroundings that lack something: folders, HOME, TERM, streams, a locale; the same answer, or a line."""

import os
import shutil
import subprocess

import pytest

from helpers.errors import assert_refused
from helpers.paths import EXAMPLES, PROGRAM
from helpers.thorough import most

LJ = str(EXAMPLES / "lammps_lj_64.csv")
ON = ("--on", "node:8@10 core:8@1")
HYDRA = shutil.which("mpiexec.hydra")
WORDS = {
    "map": ("map", LJ, *ON, "--hosts", "n[1-8]", "--format", "slurm", "-o", "ranks"),
    "eval": ("eval", LJ, *ON, "--order", "block", "--json"),
    "show": ("show", LJ),
    "convert": ("write", LJ, "-o", "lj.graph", "--symmetrize"),
    "list": ("show", "mappers"),
}


def hopbytes(words, folder, env=None, shell="exec", **options):
    """Run the program under a shell that redirects; stdout, stderr and the files it left."""
    done = subprocess.run(
        ["sh", "-c", f'{shell} "$0" "$@"', PROGRAM, *words], cwd=folder, capture_output=True, timeout=120,
        env=dict(os.environ) if env is None else env, **options,
    )
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return done.returncode, done.stdout, done.stderr, files


SURROUNDINGS = {
    "no HOME": {"HOME": None},
    "HOME that is not there": {"HOME": "/nonexistent"},
    "no TERM": {"TERM": None},
    "unknown TERM": {"TERM": "no-such-terminal"},
    "locale C": {"LC_ALL": "C", "LANG": "C"},
    "another zone": {"TZ": "Pacific/Chatham"},
    "no TMPDIR": {"TMPDIR": "/nonexistent"},
    "TMPDIR that is no folder": {"TMPDIR": "/dev/full"},
    "hardly anything": {name: None for name in os.environ if name != "PATH"},
}


@pytest.mark.slow
@pytest.mark.parametrize("verb", WORDS)
def test_what_programs_do_not_need_changes_nothing(tmp_path, verb):
    def tried(name, changes, shell="exec"):
        folder = tmp_path / name.replace(" ", "_")
        folder.mkdir()
        env = {key: value for key, value in os.environ.items() if changes.get(key, value) is not None}
        env |= {key: value for key, value in changes.items() if value is not None}
        return hopbytes(WORDS[verb], folder, env, shell)

    usual = tried("usual", {})
    assert usual[0] == 0, usual[2]
    others = list(SURROUNDINGS.items())  # each meets some of the verbs
    for name, changes in most(others, others[list(WORDS).index(verb) % 3 :: 3]):
        assert tried(name, changes) == usual, name
    assert tried("closed stdin", {}, "exec <&-;") == usual


def test_names_of_hosts_in_other_scripts_are_told_in_any_locale(tmp_path):
    words = ("map", LJ, *ON, "--hosts", "kölner,n[1-7]", "--format", "slurm")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for changes in ({}, plain, {"PYTHONIOENCODING": "ascii"}):
        code, _, said, _ = hopbytes(words, tmp_path, os.environ | changes)
        assert code == 1
        assert said.startswith(b"hopbytes: ")
        assert said.count(b"\n") == 1
        assert b"expected" in said
        assert b"Traceback" not in said


def test_standard_output_needs_no_folder(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    words = ["sh", "-c", 'rmdir "$PWD" && exec "$0" "$@"', PROGRAM, "map", "stencil:2x2", "--on", "core:4"]
    done = subprocess.run(words, cwd=folder, timeout=60, capture_output=True, text=True)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 4), done.stderr


def test_a_folder_that_is_gone_is_said(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    gone = 'rmdir "$PWD" && exec'
    words = ["sh", "-c", f'{gone} "$0" "$@"', PROGRAM, *WORDS["map"]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert_refused(done, "folder")
    elsewhere = [tmp_path / "ranks" if word == "ranks" else word for word in WORDS["map"]]
    folder.mkdir()
    done = subprocess.run(["sh", "-c", f'{gone} "$0" "$@"', PROGRAM, *elsewhere], cwd=folder, timeout=60)
    assert done.returncode == 0
    assert (tmp_path / "ranks").exists()


@pytest.mark.skipif(HYDRA is None, reason="mpiexec.hydra is not installed")
@pytest.mark.parametrize(
    "words",
    [
        ("run", "--pattern", "stencil:2", "--on", "core:2", "--", "mpiexec.hydra", "-n", "2", "true"),
        ("bench-pattern", "stencil:2", "-", "--", "mpiexec.hydra", "-n", "2"),
        ("record", "-o", "/tmp/no.pattern", "--", "mpiexec.hydra", "-n", "2", "true"),
    ],
)
def test_a_launch_from_a_folder_that_is_gone_is_refused_in_a_line(tmp_path, words):
    folder = tmp_path / "gone"
    folder.mkdir()
    command = ["sh", "-c", 'rmdir "$PWD" && exec "$0" "$@"', PROGRAM, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("hopbytes: the current folder ")


SPACE = """\
mount --make-rprivate / && mkdir -p "$1" && mount -t tmpfs -o size=1M none "$1" && cd "$1" || exit 99
case $2 in
full) head -c 2000000 /dev/zero >fill 2>/dev/null; rest=fill ;;
read-only) mount -o remount,ro "$1" ;;
esac
shift 2
"$@"
code=$?
ls -A | grep -v '^fill$' >&2
exit $code
"""


def name_space():
    """Whether a process may have file systems of its own."""
    if shutil.which("unshare") is None:
        return False
    probe = "mount --make-rprivate / && mount -t tmpfs none /mnt"
    return subprocess.run(["unshare", "-m", "sh", "-c", probe], capture_output=True).returncode == 0


@pytest.mark.skipif(not name_space(), reason="file systems of one's own need unshare and to be root")
@pytest.mark.parametrize("kind", ["full", "read-only"])
@pytest.mark.parametrize(
    ("words", "what"),
    [
        (WORDS["map"], "ranks"),
        (WORDS["convert"], "lj.graph: cannot be written"),
        (("run", "--pattern", "stencil:2", "--on", "core:2", "--", "mpiexec.hydra", "-n", "2", "true"), ""),
        (("bench-pattern", "stencil:2", "-", "--", "mpiexec.hydra", "-n", "2"), ""),
        (("show", "node:4", "-o", "x.svg"), ""),
    ],
)
def test_a_full_or_read_only_folder_is_said_in_a_line_and_left_as_it_was(tmp_path, kind, words, what):
    if "mpiexec.hydra" in words and HYDRA is None:
        pytest.skip("mpiexec.hydra is not installed")
    place = tmp_path / "place"
    command = ["unshare", "-m", "sh", "-c", SPACE, "sh", str(place), kind, PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]  # nothing is listed behind it: no file was left
    assert last.startswith("hopbytes: ")
    assert "standard output" not in last
    assert what in last
