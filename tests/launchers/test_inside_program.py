"""Another order of ranks inside unmodified programs, under real MPI."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from several_hosts import farm

from helpers.real_mpi import FAMILIES, RING, compiled, mpi
from hopbytes.mpi.inside.start import LIBRARY
from hopbytes.record.interposer import interposer

pytestmark = [pytest.mark.launcher, pytest.mark.usefixtures("mpi_folder")]
HERE = Path(__file__).parent
#: Folder with the tests of mpi4py (its sdist), and those of its modules that run here.
MPI4PY = os.environ.get("HOPBYTES_MPI4PY_TESTS", "")
MODULES = "test_(attributes|comm|cco_buf|errhandler|group|request|win|session)"
#: What rank 0 runs: every process gets the next rank in MPI_COMM_WORLD, and topologies keep their order.
SCRIPT = """\
if grep -q '^world'; then printf '1\\n2\\n3\\n0\\n'; else printf '0\\n1\\n2\\n3\\n'; fi
"""


def run(family, program, *, answer=SCRIPT, language="c", timeout=120):
    """Run a program with the library and a script that gives the order."""
    launch, compiler = mpi(family, language)
    library = interposer(shutil.which(compiler.replace("mpifort", "mpicc")), library=LIBRARY)
    Path("order.sh").write_text(answer)
    settings = {"LD_PRELOAD": str(library), "HOPBYTES_INSIDE": os.path.abspath("order.sh")}
    return subprocess.run(
        [*launch, *program], env=os.environ | settings, capture_output=True, text=True, timeout=timeout
    )


def content(done):
    """Return the ranks for which all checks held."""
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted(map(int, re.findall(r"rank (\d) is content", done.stdout)))


@pytest.mark.parametrize("family", [*FAMILIES, "mpich 5 abi"])
def test_every_class_of_calls_has_the_new_order(family):
    program = compiled(family, (HERE / "inside_program.c").read_text(), "-w", "-pthread")
    assert content(run(family, [program, os.path.abspath("file")])) == [0, 1, 2, 3]


@pytest.mark.parametrize("interface", ["MPIFH", "OLD", "F08"])
@pytest.mark.parametrize("family", ["openmpi 4.1", "mpich"])
def test_fortran_has_the_new_order(family, interface):
    _, compiler = mpi(family, "fortran")
    source = str(HERE / "inside_fortran.F90")
    build = [compiler, f"-D{interface}", "-ffree-line-length-none", source, "-o", "app"]
    built = subprocess.run(build, capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"{compiler}: {built.stderr[-80:]}")
    assert content(run(family, ["./app"], language="fortran")) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("answer", "what"),
    [("echo 0 1 1 2", "no order"), ("exit 3", "no order"), ("echo error no idea", "no idea")],
)
def test_the_order_of_the_launcher_stays_without_a_good_answer(answer, what):
    """One line on standard error; the program runs as ever."""
    source = RING.replace("MPI_Finalize", 'printf("%d %s\\n", rank, getenv("PMI_RANK")); MPI_Finalize')
    program = compiled("mpich", "#include <stdio.h>\n#include <stdlib.h>\n" + source)
    done = run("mpich", [program], answer=answer)
    assert done.returncode == 0
    assert sorted(done.stdout.split("\n")) == ["", "0 0", "1 1", "2 2", "3 3"]
    assert re.fullmatch(f"hopbytes: .*{what}.*the ranks keep the order of the launcher\n", done.stderr)


@pytest.mark.parametrize("kind", ["openmpi-4", "hydra"])
def test_reorder_is_honoured_across_hosts(tmp_path, kind):
    """Four processes in turn on two hosts; a ring in any topology then crosses twice, not four times."""
    hosts = farm(kind, tmp_path)
    Path("hosts").write_text("".join(Path("hosts").read_text().splitlines(keepends=True)[:2]))
    subprocess.run([hosts.compiler, "-w", HERE / "inside_topologies.c", "-o", "app"], check=True)
    turns = ["-ppn", "1"] if kind == "hydra" else ["--map-by", "node"]
    done = hosts.hopbytes("run", "--inside", "-q", "--", *hosts.words, *turns, "-n", "4", "./app")
    kinds = ("cart", "graph", "dist_graph", "adjacent", "unweighted")
    assert done.stdout.splitlines() == [f"{name} 4 2" for name in kinds]
    assert done.stderr == ""


@pytest.mark.parametrize("kind", ["openmpi-4", "hydra"])
def test_a_pattern_orders_the_ranks_of_a_program(tmp_path, kind):
    """Ranks 0 and 2 exchange much, and 1 and 3: each pair gets a host of its own."""
    hosts = farm(kind, tmp_path)
    Path("hosts").write_text("".join(Path("hosts").read_text().splitlines(keepends=True)[:2]))
    Path("app.edges").write_text("0 2 1000\n2 0 1000\n1 3 1000\n3 1 1000\n0 1 1\n")
    source = RING.replace("MPI_Finalize", (
        'char host[MPI_MAX_PROCESSOR_NAME]; int length; MPI_Get_processor_name(host, &length);'
        'printf("%d %s\\n", rank, host); MPI_Finalize'
    ))
    Path("app.c").write_text("#include <stdio.h>\n" + source)
    subprocess.run([hosts.compiler, "app.c", "-o", "app"], check=True)
    words = ["run", "--inside", "--pattern", "app.edges", "--", *hosts.words, "-n", "4", "./app"]
    done = hosts.hopbytes(*words)
    host = dict(line.split() for line in done.stdout.splitlines())
    assert host["0"] == host["2"] != host["1"] == host["3"]  # which pair gets which host costs the same
    assert re.search(r"J [\d,]+ as launched, [\d,]+ now", done.stderr)
    assert not list(tmp_path.glob(".hopbytes*"))
    hosts.hopbytes("run", "--inside", "--pattern", "app.edges", "--dry-run", *words[4:], code=0)
    assert "written by hopbytes" in (tmp_path / "hopbytes-run.order.sh").read_text()
    words[words.index("4")] = "3"
    wrong = hosts.hopbytes(*words, code=1)
    assert wrong.stdout == ""


@pytest.mark.slow
@pytest.mark.skipif(not MPI4PY, reason="HOPBYTES_MPI4PY_TESTS does not name the tests of mpi4py")
@pytest.mark.parametrize("family", FAMILIES)
def test_part_of_the_tests_of_mpi4py(family):
    """bench/studies/inside.py runs all of them with many orders."""
    from bench.studies.inside import suite

    done = suite(family, MPI4PY, (2, 0, 3, 1), MODULES)
    assert done["tests"]
    assert not done["new_failures"]


def test_what_contradicts_is_refused():
    for words in (["--check"], ["--format", "openmpi"], ["--pattern", "-"]):
        done = subprocess.run(
            [sys.executable, "-m", "hopbytes", "run", "--inside", *words, "--", "mpirun", "-n", "4", "./app"],
            capture_output=True, text=True,
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert "--inside" in done.stderr
