"""Mistakes: one line says what was meant or what to type, the exit code is right, and no file is left."""

import os
import shlex
import subprocess
import sys

import pytest

import hopbytes as hb
from helpers.errors import assert_refused
from helpers.paths import EXAMPLES, PROGRAM
from hopbytes.cli import main

LJ = str(EXAMPLES / "lammps_lj_64.csv")
ON = ("--on", "node:8@10 core:8@1")
SIX = "node:6@10 package:2@3 core:6@1"

FILES = {
    "empty.csv": b"",
    "junk.csv": bytes(range(256)) * 8,
    "short.graph": b"4 5\n2 3\n",
    "negative.csv": b"0,1\n-3,0\n",
    "cut.csv.gz": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03K",
    "two.txt": b"0\n1\n",
    "two.csv": b"0,1\n1,0\n", "Makefile": b"all:\n",
    "far.txt": b"0\n64\n",
    "places": b"0 1\n1 99\n",
    "tri.txt": b"0 1 5\n1 2 5\n2 0 5\n",
    "notes.csv": b"milk,eggs\n",
    "a\nb": b"".join(b"%d\n" % pe for pe in range(64)),
}
#: The exit code, what was typed in a folder with these files, and words of the answer.
MISTAKES = [
    (1, "map nope.csv ON", "nope.csv", "No such file"),
    (1, "write nope.csv -o out.graph", "nope.csv"),
    (1, "map folder ON", "folder", "directory"),
    (1, "map empty.csv ON", "empty.csv"),
    (1, "map junk.csv ON", "junk.csv"),
    (1, "map short.graph ON", "short.graph"),
    (1, "map negative.csv ON", "negative.csv:2", "-3"),
    (1, "map cut.csv.gz ON", "cut.csv.gz"),
    (1, "map LJ ON --input-format meties", "meties", "'metis'"),
    (1, "map LJ ON -o x --format openmp", "openmp", "'openmpi'"),
    (1, "map LJ ON -o x.unknown", "x.unknown"),
    (1, "map LJ ON -o x --format metis", "metis", "mapping"),
    (1, "map LJ ON --preset stronk", "stronk", "'strong'"),
    (1, "map LJ ON --mapper randon", "randon", "'random'"),
    (1, "map LJ ON --mapper random:foo=1", "foo"),
    (1, "map LJ ON --preset eco --mapper random", "eco", "random"),
    (1, "map LJ ON --refine zwap", "zwap"),
    (1, "map LJ ON --objective comm_kost", "comm_kost", "'comm_cost'"),
    (1, "map LJ ON --weight bites", "bites", "'bytes'"),
    (1, "map LJ --on core:0", "0"),
    (1, "map LJ --on ''", "empty"),
    (1, "map LJ --on 'node:8@1 core:8@10'", "node", "core"),
    (1, "map LJ --hierarchy 4:4:4 --distance 1:10", "--distance"),
    (1, "map LJ ON --exclude socket=0", "socket"),
    (1, "map LJ --on core:1 --exclude core=0", "excluded"),
    (1, "map LJ ON --cores-per-task 2", "64", "32"),
    (1, "map LJ ON --imbalance -1", "imbalance"),
    (1, "map LJ ON --imbalance nan", "imbalance"),
    (1, "map LJ ON --hosts 'n[1-7]'", "7", "8"),
    (1, "map LJ ON -o no/where.txt", "no/where.txt"),
    (1, "map LJ ON -o folder --format plain", "folder"),
    (1, "show 'node:2 core:4' -o x.svg --hosts a", "1 hosts", "2 nodes"),
    (1, "map LJ ON -o '' --format plain", "an empty name"),
    (1, "map LJ --on two.csv", "two.csv", "does not hold a machine"),
    (1, "map LJ --on Makefile", "Makefile", "does not hold a machine", "KIND:FILE"),
    (1, "eval LJ junk.csv ON", "junk.csv", "--mapping-format"),
    (1, "map LJ ON -o junk.csv --format plain", "--force"),
    (1, "map LJ ON --format openmpi", "-"),
    (1, "eval LJ two.txt ON", "two.txt", "64"),
    (1, "eval two.csv far.txt ON", "far.txt:2", "64"),
    (1, "eval LJ --order blok ON", "blok", "cyclic"),
    (1, "eval LJ LJ ON", "lammps"),
    (1, "write two.txt --format openmpi -o x", "two.txt"),
    (1, "write LJ -o x.foo", "x.foo"),
    (1, "write LJ -o x.graph", "symmetrize"),
    (1, "show nothing-like-this", "nothing-like-this"),
    (1, "show multisectoin", "multisectoin", "'multisection'"),
    (1, "map LJ ON --mapper multisection:repetitions=99999999999999999999", "repetitions", "2147483647"),
    (1, "show mapers", "mapers", "'mappers'"),
    (2, "map LJ"),
    (2, "map LJ ON --hierarchy 4:4:4"),
    (2, "mapp LJ", "'mapp'", "'map'"),
    (2, "map LJ ON --sead 1", "--sead", "--seed"),
    (2, "eval LJ ON"),
    (2, "map ON", "PATTERN is missing"),
    (2, "run --pattern", "--pattern", "requires an argument"),
    (2, "map LJ ON --seed one", "--seed", "'one'"),
    (2, "map LJ ON --threads 0", "--threads", "0"),
    (2, "map LJ ON --tasks-per node=x"),
    (2, "show torus:4x4 -o x.svg --route 0 1"),
    (2, "eval LJ a.json b.json -o x.svg"),
    (2, "eval LJ a.json b.json --distributed ON", "--distributed and several mappings"),
    (2, "map LJ ON --stream --distributed", "--stream and --distributed exclude"),
    (2, "map LJ ON --strategy levels", "--strategy needs --distributed"),
    (2, "map LJ ON --distributed --refine swap", "--distributed and --refine exclude"),
    (2, "map LJ ON --distributed --all", "--all", "eval reads"),
    (2, "map LJ --on core:8 --hierarchy 8", "--on and --hierarchy exclude"),
    (2, "eval LJ a.json b.json --order block"),
    (2, "probe ON -- srun"),
    (2, "verify a.json"),
    (2, "verify --json -- mpirun"),
    (2, "run --pattern LJ mpirun -n 64 ./app", "put -- before the launcher: … -- mpirun -n 64 ./app"),
    (2, "map LJ --machine 'node:8 core:8'", "--machine; did you mean --on?"),
    (1, "map tri.txt ON", "could be any of: dense, edges (name it with --input-format)"),
    (2, "map LJ ON --time-limit soon", "seconds such as 300, or 90s, 5m, 1h"),
    (1, "run --pattern LJ -- sbatch job.sh",
     "sbatch submits a job and starts no ranks: call hopbytes inside the job script, in front of srun"),
    (1, "run --pattern LJ -- ./halo", "./halo", "such as mpirun -n 16 ./app"),
    (1, "run --pattern LJ -- env true", "such as mpirun -n 16 ./app"),
    (1, "map mlp:tp=8 ON", "mlp:tp=8: no such file, and 'mlp' is not a pattern generator (did you mean ml?)"),
    (1, "write LJ -o notes.csv", "notes.csv", "--force"),
    (2, "write lj.json ranks.txt --format plain", "-o names the file to write"),
    (2, "map LJ ON --pack --spread", "--pack and --spread exclude"),
    (2, "map LJ ON --seed -1", "--seed: -1"),
    (1, "map LJ ON --format newrank -o x --launched 'a\nb'", "--launched", "a\\nb"),
    (2, "map LJ ON --hostfile h", "--hostfile; did you mean --hosts?"),
    (2, "map LJ ON --epsilon 0.03", "--epsilon; did you mean --imbalance?"),
    (2, "map --on node:8 core:8 LJ", 'quote the machine: --on "node:8 core:8"'),
    (2, "map LJ --on=node:8 core:8", 'quote the machine: --on "node:8 core:8"'),
    (2, "eval LJ --on node:8 core:8 --order block", 'quote the machine: --on "node:8 core:8"'),
    (2, "map LJ 'node:8@10 core:8@1'", 'the machine is given by --on: --on "node:8@10 core:8@1"'),
    (2, "map 'node:8 core:8' --on LJ", "the machine is given by --on, the pattern comes first:"),
    (2, "map --on LJ 'node:8 core:8' -q", "the machine is given by --on, the pattern comes first:"),
    (2, "map 'node:8 core:8' LJ", 'the machine is given by --on: --on "node:8 core:8"'),
    (2, "record -o x srun -n 2 ./a", "put -- before the launcher: … -- srun -n 2 ./a"),
    (2, "report LJ --json", "--json; 'hopbytes eval … --json'"),
    (2, "probe --json", "--json; the file that -o names is JSON"),
    (2, "run --json -- mpirun ./a", "--json; 'hopbytes map … --json'"),
    (2, "map LJ ON --dry-run", "--dry-run; without -o no file is written"),
    (2, "map LJ ON -v", "-v; all messages are shown"),
    (2, "verify m.json bin/mpiexec -np 2", "put -- before the launcher: … -- bin/mpiexec"),
    (1, "eval lj.json LJ", "lj.json: a stored mapping, expected a pattern: the order is PATTERN MAPPING"),
    (1, "eval lj.txt LJ ON", "lj.txt: a mapping (plain), expected a pattern: the order is"),
    (1, "map qqqq:3 ON", "'qqqq' is not a pattern generator (known: alltoall, butterfly,"),
    (1, "map ml:fsdp=64 ON", "fsdp= is unknown, expected zero=3"),
    (1, "map ml:tp=8,pp=4 --on rails:4x8",
     "256 processes = 8 x 4 x 8 (tp x pp x dp; dp=8 by default), but the machine has 32"),
    (1, "map ml:tp=8 --on dgx:4", "dgx", "machine kind, expected rails:4x8"),
    (1, "map LJ --on hgx", "expected rails:HOSTSx8"),
    (1, "map LJ ON -o x --format pytorch", "format, expected torchrun"),
    (1, "map LJ ON -o x --format DeepSpeed", "format, expected hosts"),
    (1, "map LJ ON -o x --format megatron", "format, expected mesh"),
    (1, "map ml:layer=8 ON", "option 'layer=8' is unknown (did you mean layers=8?)"),
    (1, "record -o x.pattern -- qsub job.sh", "qsub submits a job and starts no ranks"),
    (1, "map LJ ON --fixed places", "places:2: PE 99, expected one of 0..63"),
    (1, "map LJ ON --forbidden places", "places:2: PE 99, expected one of 0..63"),
    (1, "map LJ ON --fixed /nowhere", "/nowhere: cannot be read"),
    (1, "map LJ ON --migration-price 4", "needs an initial mapping"),
    (1, "map LJ ON --capacity node=1", "expected LEVEL=NUMBERS:N"),
    (2, "simulate LJ", "--on"),
    (2, "simulate LJ ON --bytes-scale -1", "--bytes-scale"),
    (1, "simulate LJ ON --assume none", "--assume"),
    (1, "simulate LJ ON --grade exact", "bound"),
    (1, "simulate LJ --on 'node:2 core:2'", "64 tasks for 4 slots"),
    (1, "simulate LJ ON --platform no/m.xml", "no/m.xml"),
    (2, "advise LJ", "--on"),
    (1, "advise LJ --on 'node:2 core:2'", "64 tasks for 4 slots"),
    (1, "advise LJ ON --assume none", "--assume"),
    (1, "advise LJ ON --preset eko", "eco"),
    (1, "show torus:4 --route 0 4", "--route: node '4', expected a number from 0 to 3"),
    (1, "show 'node:4 core:2' --route 0 1", "--route needs a machine with links"),
    (1, "show torus:4 --route a 1", "node 'a', expected a number from 0 to 3, or n0 to n3"),
    (1, "show torus:4 --route n4 1", "--route: node 'n4'"),
    (1, "show torus:4 --hosts 'n[0-1],x'", "1 of them none of n0 to n3 (x)"),
    (1, "show 'node:4 core:2' --hosts 'n[0-1]'", "2 hosts for 4 nodes"),
    (1, "show node:2 -o no/x.svg", "no/x.svg: cannot be written: the folder "),
    (1, "show node:2 -o x.bmp", "x.bmp: a picture is written as .svg, .png, .pdf"),
    (1, "show node:2 -o .", ".: a picture is written as .svg, .png, .pdf"),
    (1, "show lj.txt -o x.svg", "lj.txt is a mapping without its machine, expected --on"),
    (1, "show lj.json --on 'node:3 core:8' -o x.svg", "lj.json: was made for 64 slots"),
    (1, "show lj.txt --on core:4 -o x.svg", "lj.txt:"),
    (1, "show absent.txt --on core:4 -o x.svg", "absent.txt: no such file, expected a"),
    (1, "show strong -o x.svg"),
    (1, "eval stencil:5x5 lj.json -o x.svg", "lj.json: a mapping of 64 tasks, expected 25"),
    (1, "eval LJ lj.json -o no/x.svg", "no/x.svg: cannot be written"),
    (1, "eval LJ lj.json -o lj.json", "lj.json: a picture is written as"),
]  # fmt: skip
#: Name of what is understood: what was typed, texts on stderr.
UNDERSTOOD = {
    "another name of a format": (("map", LJ, *ON, "-o", "rf", "--format", "rankfile"), ("rf ./app",)),
    "hosts": (("map", LJ, "--on", "hosts:8 cores:8"), ("8 tasks per",)),
    "spare cores": (("map", LJ, "--on", SIX), ("64 processes on 72 cores", "as mpirun does")),
    "nothing to gain": (("map", LJ, *ON), ("There is nothing to gain", "Start the program as always")),
    "one GPU per slot, said twice": (
        ("map", "ml:tp=8,pp=1,dp=1", "--on", "node:1 gpu:8", "--per", "gpu"), ("processes: J",)
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def stored():
    return hb.map_tasks(hb.read(LJ), hb.allocate(ON[1]), "identity")


@pytest.fixture
def folder(tmp_path, stored):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    for name in ("lj.json", "lj.txt"):
        hb.write(stored, tmp_path / name)
    (tmp_path / "folder").mkdir()
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize(("code", "typed", "words"), [(row[0], row[1], row[2:]) for row in MISTAKES])
def test_a_mistake_is_refused_in_one_line_and_leaves_no_file(folder, monkeypatch, capfd, code, typed, words):
    """The program runs inside this process: a start of Python per row would be slow."""
    before = contents(folder)
    monkeypatch.chdir(folder)
    given = {"LJ": [LJ], "ON": ON}
    typed = [part for word in shlex.split(typed) for part in given.get(word, [word])]
    monkeypatch.setattr(sys, "argv", ["hopbytes", *typed])
    with pytest.raises(SystemExit) as stop:
        main()
    stdout, stderr = capfd.readouterr()
    assert (stop.value.code, stdout) == (code, ""), stderr
    assert stderr.startswith("hopbytes: ")
    assert stderr.count("\n") == 1, stderr
    assert "`" not in stderr
    assert "format=" not in stderr
    assert code == 1 or "--help" in stderr
    for word in words:
        assert word in stderr
    assert contents(folder) == before


@pytest.mark.parametrize(("value", "code"), [("100", 1), ("1G", 2), ("0", 2)])
def test_the_largest_input_is_a_variable(monkeypatch, capfd, value, code):
    monkeypatch.setenv("HOPBYTES_MAX_BYTES", value)
    monkeypatch.setattr(sys, "argv", ["hopbytes", "map", LJ, *ON])
    with pytest.raises(SystemExit) as stop:
        main()
    stderr = capfd.readouterr().err
    assert stop.value.code == code
    assert value in stderr
    assert "HOPBYTES_MAX_BYTES" in stderr


def test_the_installed_program_says_the_same(hopbytes):
    done = hopbytes("map", "nope.csv", *ON)
    assert_refused(done, "nope.csv:", "No such file or directory")
    assert done.stdout == ""
    assert hopbytes("map", LJ).returncode == 2


@pytest.mark.parametrize("meant", UNDERSTOOD)
def test_what_can_be_understood_is_understood(hopbytes, meant):
    words, said = UNDERSTOOD[meant]
    done = hopbytes(*words, code=0)
    for text in said:
        assert text in done.stderr


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
        hopbytes(*words, "--work-limit", limit, code=0)
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
    assert "--help-all" not in words or "A:B:.." in text


@pytest.mark.parametrize(
    ("alias", "name"),
    [("rankfile", "openmpi"), ("ompi", "openmpi"), ("srun", "slurm"), ("mpich", "hydra"), ("impi", "intel")],
)
def test_formats_go_by_the_names_people_use(hopbytes, tmp_path, alias, name):
    for form in (alias, name):
        hopbytes("map", LJ, *ON, "-o", form, "--format", form, "--for", form, code=0)
    assert (tmp_path / alias).read_text() == (tmp_path / name).read_text()
    lines = hopbytes("show", "formats").stdout.splitlines()
    assert not any(line.startswith(f"{alias} ") for line in lines)


def test_what_is_no_slip_goes_on(hopbytes):
    for arguments in (("map", "--on", "core:8", "stencil:8"), ("map", "stencil:8", "--on=core:8"),
                      ("map", "--on", "node:2 core:4", "transpose:2x4")):  # fmt: skip
        hopbytes(*arguments, code=0)
    assert "did you mean" not in hopbytes("map", LJ, *ON, "--frobnicate").stderr


def test_defaults_of_sizes_are_said(hopbytes):
    """Groups that were not asked for are as much of the number of tasks as the others."""
    done = hopbytes("map", "ml:tp=8,pp=4", "--on", "rails:32x8")
    assert "256 tasks = 8 x 4 x 8 (tp x pp x dp; dp=8 by default)" in done.stderr
    for pattern in ("ml:tp=8,pp=4,dp=8", "ml:"):  # all were named, or none
        assert "by default" not in hopbytes("map", pattern, "--on", "rails:32x8").stderr
