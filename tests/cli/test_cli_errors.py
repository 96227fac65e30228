"""Whatever is wrong, the user gets one line, the right exit code, and no file."""

import subprocess
import sys

import pytest

from helpers.errors import assert_refused
from helpers.paths import EXAMPLES
from hopbytes.cli import main

EXAMPLE = EXAMPLES / "lammps_lj_64.csv"
ON = ("--on", "node:8@10 core:8@1")

#: (what, arguments, words the line must hold); run in a folder with the files of `folder` below.
OUR_ERRORS = [
    ("missing file", ("map", "nope.csv", *ON), ["nope.csv", "No such file"]),
    ("missing file, near miss of a verb", ("write", "nope.csv", "-o", "out.graph"), ["nope.csv"]),
    ("directory", ("map", "folder", *ON), ["folder", "directory"]),
    ("empty file", ("map", "empty.csv", *ON), ["empty.csv"]),
    ("binary junk", ("map", "junk.csv", *ON), ["junk.csv"]),
    ("truncated METIS", ("map", "short.graph", *ON), ["short.graph"]),
    ("negative weight", ("map", "negative.csv", *ON), ["negative.csv:2", "-3"]),
    ("truncated gzip", ("map", "cut.csv.gz", *ON), ["cut.csv.gz"]),
    ("unknown input format", ("map", EXAMPLE, *ON, "--input-format", "meties"), ["meties", "'metis'"]),
    (
        "unknown output format",
        ("map", EXAMPLE, *ON, "-o", "x", "--format", "openmp"),
        ["openmp", "'openmpi'"],
    ),
    ("no format for the name", ("map", EXAMPLE, *ON, "-o", "x.unknown"), ["x.unknown"]),
    ("a format for patterns", ("map", EXAMPLE, *ON, "-o", "x", "--format", "metis"), ["metis", "mapping"]),
    ("unknown preset", ("map", EXAMPLE, *ON, "--preset", "stronk"), ["stronk", "'strong'"]),
    ("unknown mapper", ("map", EXAMPLE, *ON, "--mapper", "randon"), ["randon", "'random'"]),
    ("unknown option of a mapper", ("map", EXAMPLE, *ON, "--mapper", "random:foo=1"), ["foo"]),
    ("preset and mapper", ("map", EXAMPLE, *ON, "--preset", "eco", "--mapper", "random"), ["eco", "random"]),
    ("unknown refiner", ("map", EXAMPLE, *ON, "--refine", "zwap"), ["zwap"]),
    ("unknown objective", ("map", EXAMPLE, *ON, "--objective", "comm_kost"), ["comm_kost", "'comm_cost'"]),
    ("unknown weight", ("map", EXAMPLE, *ON, "--weight", "bites"), ["bites", "'bytes'"]),
    ("k = 0", ("map", EXAMPLE, "--on", "core:0"), ["0"]),
    ("no machine in the text", ("map", EXAMPLE, "--on", ""), ["empty"]),
    ("distances that shrink outwards", ("map", EXAMPLE, "--on", "node:8@1 core:8@10"), ["node", "core"]),
    ("unequal lists", ("map", EXAMPLE, "--hierarchy", "4:4:4", "--distance", "1:10"), ["--distance"]),
    ("unknown level", ("map", EXAMPLE, *ON, "--exclude", "socket=0"), ["socket"]),
    ("everything excluded", ("map", EXAMPLE, "--on", "core:1", "--exclude", "core=0"), ["excluded"]),
    ("more tasks than slots", ("map", EXAMPLE, "--on", "node:8@10 core:4@1"), ["64", "32"]),
    ("cores per task", ("map", EXAMPLE, *ON, "--cores-per-task", 2), ["64", "32"]),
    ("negative imbalance", ("map", EXAMPLE, *ON, "--imbalance", -1), ["imbalance"]),
    ("imbalance no number", ("map", EXAMPLE, *ON, "--imbalance", "nan"), ["imbalance"]),
    ("wrong number of hosts", ("map", EXAMPLE, *ON, "--hosts", "n[1-7]"), ["7", "8"]),
    ("output folder missing", ("map", EXAMPLE, *ON, "-o", "no/where.txt"), ["no/where.txt"]),
    ("output is a directory", ("map", EXAMPLE, *ON, "-o", "folder", "--format", "plain"), ["folder"]),
    ("a picture's hosts", ("show", "node:2 core:4", "-o", "x.svg", "--hosts", "a"), ["1 hosts", "2 nodes"]),
    ("output without a name", ("map", EXAMPLE, *ON, "-o", "", "--format", "plain"), ["an empty name"]),
    ("a pattern as machine", ("map", EXAMPLE, "--on", "two.csv"), ["two.csv", "holds no machine"]),
    ("eval of no format", ("eval", EXAMPLE, "junk.csv", *ON), ["junk.csv", "--mapping-format"]),
    ("a foreign file in the way", ("map", EXAMPLE, *ON, "-o", "junk.csv", "--format", "plain"), ["--force"]),
    ("too large", ("map", EXAMPLE, *ON, "--max-bytes", 100), ["100", "--max-bytes"]),
    ("several files to stdout", ("map", EXAMPLE, *ON, "--format", "openmpi"), ["-"]),
    ("eval with too few lines", ("eval", EXAMPLE, "two.txt", *ON), ["two.txt", "64"]),
    ("eval with a PE too many", ("eval", "two.csv", "far.txt", *ON), ["far.txt:2", "64"]),
    ("eval of an unknown placement", ("eval", EXAMPLE, "--order", "blok", *ON), ["blok", "cyclic"]),
    ("eval of no placement", ("eval", EXAMPLE, EXAMPLE, *ON), ["lammps"]),
    ("write of no stored mapping", ("write", "two.txt", "--format", "openmpi", "-o", "x"), ["two.txt"]),
    ("convert to an unknown name", ("write", EXAMPLE, "-o", "x.foo"), ["x.foo"]),
    ("METIS without symmetry", ("write", EXAMPLE, "-o", "x.graph"), ["symmetrize"]),
    ("show of nothing known", ("show", "nothing-like-this"), ["nothing-like-this"]),
    ("show of a near miss", ("show", "multisectoin"), ["multisectoin", "'multisection'"]),
    (
        "an option beyond compiled integers",
        ("map", EXAMPLE, *ON, "--mapper", "multisection:repetitions=99999999999999999999"),
        ["repetitions", "2147483647"],
    ),
    ("list of nothing known", ("show", "mapers"), ["mapers", "'mappers'"]),
]

USAGE_ERRORS = [
    ("no machine", ("map", EXAMPLE)),
    ("machine twice", ("map", EXAMPLE, *ON, "--hierarchy", "4:4:4")),
    ("unknown verb", ("mapp", EXAMPLE)),
    ("unknown option", ("map", EXAMPLE, *ON, "--sead", 1)),
    ("nothing to judge", ("eval", EXAMPLE, *ON)),
    ("no pattern", ("map", *ON)),
    ("seed no integer", ("map", EXAMPLE, *ON, "--seed", "one")),
    ("no thread", ("map", EXAMPLE, *ON, "--threads", 0)),
    ("count without number", ("map", EXAMPLE, *ON, "--tasks-per", "node=x")),
    ("a picture of a route", ("show", "torus:4x4", "-o", "x.svg", "--route", 0, 1)),
    ("two pictures", ("eval", EXAMPLE, "a.json", "b.json", "-o", "x.svg")),
    ("an order beside mappings", ("eval", EXAMPLE, "a.json", "b.json", "--order", "block")),
    ("a measurement without --measure", ("probe", *ON, "--", "srun")),
    ("a launch without a command", ("verify", "a.json")),
    ("JSON of no mapping", ("verify", "--json", "--", "mpirun")),
]

FILES = {
    "empty.csv": b"",
    "junk.csv": bytes(range(256)) * 8,
    "short.graph": b"4 5\n2 3\n",
    "negative.csv": b"0,1\n-3,0\n",
    "cut.csv.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03K",
    "two.txt": b"0\n1\n",
    "two.csv": b"0,1\n1,0\n",
    "far.txt": b"0\n64\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.fixture
def here(folder, monkeypatch, capfd):
    """Run the program inside this process, in the folder; a start of Python per row would be slow."""

    def run(*arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["hopbytes", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        stdout, stderr = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, stop.value.code, stdout, stderr)

    return run


def contents(folder):
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize(("what", "arguments", "words"), OUR_ERRORS, ids=[row[0] for row in OUR_ERRORS])
def test_our_errors_are_one_line_and_exit_1(here, folder, what, arguments, words):
    before = contents(folder)
    done = here(*arguments)
    assert done.returncode == 1, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("hopbytes: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for word in words:
        assert word in done.stderr
    assert contents(folder) == before


@pytest.mark.parametrize(("what", "arguments"), USAGE_ERRORS, ids=[row[0] for row in USAGE_ERRORS])
def test_usage_errors_exit_2(here, folder, what, arguments):
    before = contents(folder)
    done = here(*arguments)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == ""
    assert done.stderr.startswith("hopbytes: ")
    assert done.stderr.count("\n") == 1, done.stderr
    assert "--help" in done.stderr
    assert contents(folder) == before


def test_the_installed_program_says_the_same(hopbytes, folder):
    done = hopbytes("map", "nope.csv", *ON)
    assert_refused(done, "nope.csv:", "No such file or directory")
    assert done.stdout == ""
    assert hopbytes("map", EXAMPLE).returncode == 2
