"""Natural mistakes of newcomers: every one is answered with what was meant, or with what to type instead.

One case per mistake. A case has the words that were typed, the exit code and texts in the answer.
"""

import os
import subprocess

import pytest

import hopbytes as hb
from helpers.paths import EXAMPLES, PROGRAM

LJ = str(EXAMPLES / "lammps_lj_64.csv")
ON = ("--on", "node:8@10 core:8@1")
SIX = "node:6@10 package:2@3 core:6@1"
MESH = ("map", "stencil:64x64", *ON, "--partition", "--preset", "fast")

#: Name of the mistake: what was typed, the exit code, what the answer holds.
REFUSED = {
    "a launcher without --": (
        ("run", "--pattern", LJ, "mpirun", "-n", "64", "./app"), 2,
        ("put -- before the launcher: … -- mpirun -n 64 ./app",),
    ),
    "an unknown format": (("map", LJ, *ON, "-o", "x", "--format", "ranckfile"), 1, ("openmpi",)),
    "--machine": (("map", LJ, "--machine", "node:8 core:8"), 2, ("did you mean --on?",)),
    "a machine without quotes": (
        ("map", LJ, "--on", *SIX.split()), 2, (f'quote the machine: --on "{SIX}"',),
    ),
    "pattern and machine without --on": (
        ("map", LJ, SIX), 2, (f'the machine is given by --on: --on "{SIX}"',),
    ),
    "machine before pattern": (("map", SIX, LJ), 2, (f'the machine is given by --on: --on "{SIX}"',)),
    "levels separated by commas": (
        ("map", LJ, "--on", SIX.replace(" ", ",")), 1, (f"levels are separated by blanks: '{SIX}'",),
    ),
    "mapping before pattern": (
        ("eval", "lj.json", LJ), 1, ("lj.json: a stored mapping", "PATTERN MAPPING"),
    ),
    "too few slots": (
        ("map", LJ, "--on", "node:4 core:8"), 1,
        ("64 processes", "32 cores (4 nodes x 8)", "--oversubscribe", "--partition"),
    ),
    "far too few slots": (
        ("map", LJ, "--on", "node:2 core:4"), 1, ("64 processes", "8 cores (2 nodes x 4)"),
    ),
    "a matrix with a header": (
        ("map", "header.csv", "--on", "core:8"), 1, ("header.csv:1: 'src'", "--input-format edges"),
    ),
    "an edge list of three lines": (
        ("map", "three.csv", "--on", "core:8"), 1, ("--input-format csv", "--input-format edges"),
    ),
    "an edge list in a .txt": (
        ("map", "tri.txt", *ON), 1, ("could be any of: dense, edges (name it with --input-format)",),
    ),
    "per cent as a number": (
        ("map", "stencil:64x64", *ON, "--imbalance", "3"), 1,
        ("4 times the mean load", "0.03 or 3%"),
    ),
    "a duration in words": (
        ("map", LJ, *ON, "--time-limit", "soon"), 2, ("seconds such as 300, or 90s, 5m, 1h",),
    ),
    "sbatch as launcher": (
        ("run", "--pattern", LJ, "--", "sbatch", "job.sh"), 1,
        ("submits a job", "inside the job script, in front of srun"),
    ),
    "a program that is not there as launcher": (
        ("run", "--pattern", LJ, "--", "./halo"), 1, ("./halo", "such as mpirun -n 16 ./app"),
    ),
    "a program as launcher": (
        ("run", "--pattern", LJ, "--", "env", "true"), 1, ("such as mpirun -n 16 ./app",),
    ),
    "a misspelt generator": (("map", "mlp:tp=8", *ON), 1, ("no pattern generator 'mlp'", "did you mean ml?")),
    "levels innermost first": (
        ("map", LJ, "--on", "core:6 package:2 node:6"), 1,
        ("outermost first", "'node:6 package:2 core:6'"),
    ),
    "message counts instead of bytes": (
        ("map", "x.count.csv", *ON), 1, ("message counts of x.csv", "expected that file"),
    ),
    "a foreign file in the way": (("write", LJ, "-o", "notes.csv"), 1, ("notes.csv", "--force")),
    "the file to write without -o": (
        ("write", "lj.json", "ranks.txt", "--format", "plain"), 2, ("-o names the file to write",),
    ),
    "the local computer for 64 ranks": (("map", LJ, "--on", "core:2"), 1, ("64 processes", "2 cores")),
    "filled and spread": (("map", LJ, *ON, "--pack", "--spread"), 2, ("--pack and --spread exclude",)),
    "a negative time": (("map", LJ, *ON, "--time-limit", "-1"), 2, ("--time-limit: '-1'",)),
    "a time that is no number": (("map", LJ, *ON, "--time-limit", "nan"), 2, ("--time-limit: 'nan'",)),
    "a negative seed": (("map", LJ, *ON, "--seed", "-1"), 2, ("--seed: -1",)),
    "an unprintable file of launched ranks": (
        ("map", LJ, *ON, "--format", "newrank", "-o", "x", "--launched", "a\nb"), 1, ("--launched", "a\\nb"),
    ),
}  # fmt: skip

#: Name of what is understood: what was typed, texts on stderr.
UNDERSTOOD = {
    "another name of a format": (("map", LJ, *ON, "-o", "rf", "--format", "rankfile"), ("rf ./app",)),
    "levels in the plural": (("map", LJ, "--on", "nodes:8 cores:8"), ("8 tasks per node",)),
    "levels in capitals": (("map", LJ, "--on", "Node:8 Core:8"), ("8 tasks per node",)),
    "hosts": (("map", LJ, "--on", "hosts:8 cores:8"), ("8 tasks per",)),
    "no level of hosts": (("map", LJ, "--on", "blade:8 core:8"), ("taken as ONE host",)),
    "a hierarchy without distances": (
        ("map", LJ, "--hierarchy", "6:2:6"), ("distances 1:10:100", "ONE host")
    ),
    "a partition nobody asked for": (
        ("map", "stencil:64x64", "--on", "core:8", "--preset", "fast"), ("512 tasks per core", "--processes")
    ),
    "per cent": ((*MESH, "--imbalance", "3%"), ("bound met",)),
    "a duration": (("map", LJ, *ON, "--preset", "fast", "--time-limit", "5m"), ("processes: J",)),
    "spare cores": (("map", LJ, "--on", SIX), ("64 processes on 72 cores", "as mpirun does")),
    "nothing to gain": (("map", LJ, *ON), ("There is nothing to gain", "Start the program as always")),
    "one GPU per slot, said twice": (
        ("map", "ml:tp=8,pp=1,dp=1", "--on", "node:1 gpu:8", "--per", "gpu"), ("processes: J",)
    ),
}  # fmt: skip


@pytest.fixture
def surroundings(tmp_path):
    """Files with which people make mistakes."""
    mapping = hb.map_tasks(hb.read(LJ), hb.machine(ON[1]), mapper="identity")
    hb.write(mapping, tmp_path / "lj.json")
    (tmp_path / "header.csv").write_text("src,dst,bytes\n0,1,5\n1,2,5\n2,0,5\n")
    (tmp_path / "three.csv").write_text("0,1,5\n1,2,5\n2,0,5\n")
    (tmp_path / "tri.txt").write_text("0 1 5\n1 2 5\n2 0 5\n")
    (tmp_path / "notes.csv").write_text("milk,eggs\n")
    (tmp_path / "a\nb").write_text("".join(f"{pe}\n" for pe in range(64)))
    for name in ("x.csv", "x.count.csv"):
        (tmp_path / name).write_text("0,1\n1,0\n")


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_is_refused_in_one_line_with_the_way_out(hopbytes, surroundings, mistake):
    words, code, answers = REFUSED[mistake]
    done = hopbytes(*words)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("hopbytes: ")
    for answer in answers:
        assert answer in last
    assert "`" not in last
    assert "format=" not in last


@pytest.mark.parametrize("meant", UNDERSTOOD)
def test_what_can_be_understood_is_understood(hopbytes, surroundings, meant):
    words, said = UNDERSTOOD[meant]
    done = hopbytes(*words)
    assert done.returncode == 0, done.stderr
    for text in said:
        assert text in done.stderr


def test_the_same_command_twice_overwrites_its_own_file(hopbytes):
    for words in ((*MESH, "-o", "mapping.txt"), ("write", LJ, "-o", "y.csv")):
        assert [hopbytes(*words).returncode for _ in range(2)] == [0, 0]


def test_work_is_told_with_separators_and_taken_with_them(hopbytes):
    """A time limit leaves work behind that another run repeats."""
    words = ("map", "stencil:64x64", *ON, "--partition", "-o", "a.txt", "--force")
    said = hopbytes(*words, "--time-limit", "600").stderr
    line = next(line for line in said.splitlines() if "scanned edges" in line)
    count = line.split(" scanned edges")[0].split()[-1]
    assert f"{int(count.replace(',', '')):,}" == count
    assert "," in count
    assert f"--work-limit {count.replace(',', '')} instead" in line
    for limit in (count, count.replace(",", "_"), count.replace(",", "")):
        done = hopbytes(*words, "--work-limit", limit)
        assert done.returncode == 0, done.stderr
    assert hopbytes(*words, "--work-limit", "1,2").returncode == 2
    assert hopbytes(*words, "--work-limit", "-1").returncode == 2


ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    "words",
    [
        ("eval", LJ, *ON, "--order", "cyclic"), ("map", "--help-all"), ("map", LJ, *ON),
        ("run", "--pattern", LJ, "mpirun", "-n", "64", "./app"), ("show", "mappers"), ("--help",),
    ],
    ids=lambda words: words[0] + words[1][-6:] if len(words) > 1 else words[0],
)
def test_an_ascii_locale_gets_readable_signs(tmp_path, words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, cwd=tmp_path, env=os.environ | ASCII)
    text = (done.stdout + done.stderr).decode("ascii")
    assert text
    assert "\\u" not in text
    assert "\\x" not in text
