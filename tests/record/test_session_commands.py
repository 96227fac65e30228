"""Commands of several programs, runs that a signal ends, and launchers of another MPI than the program's."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.errors import mentions
from helpers.graphs import arcs_of
from helpers.real_mpi import FAMILIES, RING, RING_OF_FOUR, compiled, mpi, script
from hopbytes.errors import UnsupportedError
from hopbytes.record.session import next_step, record

pytestmark = [pytest.mark.launcher, pytest.mark.usefixtures("mpi_folder")]


def built(family, *flags, name="ring"):
    """Compile the ring; return the words of its launcher without the number of ranks."""
    compiled(family, RING, *flags, name=name)
    return mpi(family)[0][:-2]


@pytest.mark.parametrize("family", FAMILIES)
def test_several_programs(family):
    """All of them are one world; where one names calls that Open MPI is wrong about, it counts for none."""
    launch = built(family)
    built(family, "-DPAUSE", name="pausing")
    done = record([*launch, "-n", "1", "./ring", ":", "-n", "3", "./ring", "y"])
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert len(done.graph.meta["recorded"]["hosts"]) == 4
    done = record([*launch, "-n", "1", "./ring", ":", "-n", "3", "./pausing"], hosts=False)
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert done.graph.meta["recorded"]["by"] == "interposer"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_folder_to_start_in(family):
    launch = built(family)
    Path("there").mkdir()
    Path("ring").rename("there/ring")
    words = [*launch, "-wdir" if family == "mpich" else "--wdir", "there", "-n", "4", "./ring"]
    done = record(words, hosts=False)
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR


@pytest.mark.parametrize("family", FAMILIES)
def test_env_in_front(family):
    launch = built(family)
    starter = script('test "$WORD" = "a b" && exec ./ring', "app.sh")
    assert built(family)
    done = record(["env", "WORD=a b", *launch, "-n", "4", starter], collectives="ring")
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert len(done.graph.meta["recorded"]["hosts"]) == 4


@pytest.mark.parametrize("family", FAMILIES)
def test_a_wrapper_of_a_known_kind(family):
    """Its options are those of the launcher it hands them on to."""
    launch = built(family)
    asked = '[ "$1" = --version ] && exec echo of this site'
    site = script(f'{asked}; exec {" ".join(launch)} "$@"', "ibrun")
    words = [site, "-n", "4", "./ring"]
    with pytest.raises(UnsupportedError, match=r"ibrun: not a known launcher, .* `launcher=KIND`"):
        record(words)
    kind = "hydra" if family == "mpich" else "openmpi"
    done = record(words, launcher=kind)
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert next_step("a.pattern", words, done.graph, kind)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_launcher_with_options_of_its_own(family):
    """The program is the first word that can be executed; hosts are those the ranks name."""
    launch = built(family)
    site = script(f'shift 3; exec {" ".join(launch)} -n 4 "$@"', "jsrun")
    done = record([site, "--nrs", "4", "-a1", "./ring", "y"], launcher="other")
    assert done.graph is not None, done.problem
    assert arcs_of(done.graph) == RING_OF_FOUR
    assert len(done.graph.meta["recorded"]["hosts"]) == 4


def test_what_is_refused():
    launch = built("mpich")
    with pytest.raises(UnsupportedError, match=mentions("-configfile", "-n", "2", "./a", "./b")):
        record([*launch, "-configfile", "programs"])
    with pytest.raises(UnsupportedError, match="no program, expected one after"):
        record([*launch, "-n", "2", "./ring", ":", "-n", "2"])
    with pytest.raises(UnsupportedError, match=r"\./missing: not found"):
        record([*launch, "-n", "2", "./ring", ":", "-n", "2", "./missing"])
    with pytest.raises(UnsupportedError, match="`launcher='mpich'`: unknown kind, expected one of openmpi"):
        record([*launch, "./ring"], launcher="mpich")
    with pytest.raises(UnsupportedError, match=r"env -i: expected assignments only"):
        record(["env", "-i", *launch, "./ring"])
    built("openmpi 4.1", name="other")
    with pytest.raises(UnsupportedError, match="expected programs of one MPI in a command"):
        record([*launch, "-n", "2", "./ring", ":", "-n", "2", "./other"])


SOURCE = """#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile int told;
static void hear(int number) { told = number; }
int main(int argc, char **argv) {
    int rank, size, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) signal(SIGTERM, hear);
    for (int i = 0; i < 10; i++)
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("on its way\\n"), fflush(stdout);
    for (int i = 0; i < 6000 && !told; i++) usleep(10000);
    if (told) printf("heard it\\n"), fflush(stdout);
    MPI_Finalize();
    return 0;
}
"""
PATIENCE = 90


def ended(family, *, whole_group, options=("--collectives", "ring"), words=()):
    """Record a long run and end it once all ranks have sent; return exit code and what was said."""
    launch, _ = mpi(family)
    program = compiled(family, SOURCE, name="long")
    typed = [sys.executable, "-m", "hopbytes", "record", "-o", "app.pattern", *options, "--"]
    with subprocess.Popen(
        [*typed, *launch, program, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as ours:  # fmt: skip
        assert ours.stdout is not None
        said = ""
        while said.count("on its way") < 4:
            said += ours.stdout.readline()
        time.sleep(0.2)
        if whole_group:  # as `timeout` and resource managers do
            os.killpg(ours.pid, signal.SIGTERM)
        else:
            ours.send_signal(signal.SIGTERM)
        out, errors = ours.communicate(timeout=PATIENCE)
    return ours.returncode, said + out, errors


@pytest.mark.parametrize("whole_group", [True, False])
@pytest.mark.parametrize("family", FAMILIES)
def test_what_was_sent_until_then(family, whole_group, tmp_path):
    _, _, errors = ended(family, whole_group=whole_group)  # Hydra may end with 0
    graph = hb.read("app.pattern")
    assert arcs_of(graph) == {pair: 10 * sent for pair, sent in RING_OF_FOUR.items()}
    assert "a signal ended 4 of 4 ranks: the pattern holds what they had sent until then" in errors
    assert graph.meta["recorded"]["cut"] == 4
    assert len(graph.meta["recorded"]["hosts"]) == 4
    assert sorted(os.listdir(tmp_path)) == ["app.pattern", "long", "long.c"]


def test_handlers_of_the_program_are_left_alone():
    code, said, errors = ended("mpich", whole_group=False, words=["handles"])
    assert said.count("heard it") == 4 or code  # Hydra may end ranks before they have heard
    assert "a signal ended" not in errors


def test_the_way_out_is_said():
    """Open MPI itself writes at the end only."""
    code, _, errors = ended("openmpi 4.1", whole_group=False, options=())
    assert code
    assert "the interposer (--cc mpicc) keeps what was sent before a signal" in errors
    assert not Path("app.pattern").exists()


INTEL = Path(os.environ.get("HOPBYTES_TEST_INTEL_MPI", "/opt/hopbytes-intel-mpi")) / "bin/mpiexec.hydra"
OTHERS = [("openmpi 5", "mpich"), ("openmpi 4.1", "mpich"), ("mpich", "openmpi 5"), ("mpich", "openmpi 4.1")]
OPEN, MPICH = "Open MPI", "MPICH"


def makers(family, other):
    return (OPEN, MPICH) if family.startswith("openmpi") else (MPICH, OPEN)


@pytest.mark.parametrize(("family", "other"), OTHERS)
def test_a_launcher_of_another_mpi(family, other):
    """Both are named before anything is started; a launcher that would fit is named as well."""
    launch, _ = mpi(family)
    program = compiled(other)
    own, theirs = makers(family, other)
    said = rf"\./ring uses {theirs} \(/.*libmpi.*\), \S+ starts programs of {own}: "
    said += "each process would be alone, expected the launcher of its MPI such as mpi"
    with pytest.raises(UnsupportedError, match=said):
        record([*launch, program])


@pytest.mark.parametrize(("family", "other"), [("openmpi 4.1", "mpich"), ("mpich", "openmpi 4.1")])
def test_a_launcher_of_another_mpi_behind_a_script(family, other):
    """The interposer of the launcher's MPI finds the other one loaded, and ends the program with that."""
    launch, _ = mpi(family)
    wrapper = script(f"exec {compiled(other)}")
    own, theirs = makers(family, other)
    done = record([*launch, wrapper], collectives="ring", hosts=False)
    assert done.graph is None
    said = f"./wrapper.sh uses {theirs} (/"
    assert done.problem.startswith(said)
    assert f"starts programs of {own}: each process would be alone, expected the launcher" in done.problem
    assert not [name for name in os.listdir() if name.startswith(".hopbytes")]


def test_the_command_writes_nothing(tmp_path):
    launch, _ = mpi("openmpi 4.1")
    program = compiled("mpich")
    words = [sys.executable, "-m", "hopbytes", "record", "-o", "app.pattern", "--", *launch, program]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    assert done.returncode == 1
    assert done.stderr.startswith("hopbytes: ./ring uses MPICH")
    assert sorted(os.listdir()) == ["ring", "ring.c"]


@pytest.mark.parametrize("family", FAMILIES)
def test_scripts_are_counted_by_the_launchers_own_mpi(family, monkeypatch, tmp_path):
    """Whatever mpicc is first in PATH."""
    launch, _ = mpi(family)
    wrapper = script(f"exec {compiled(family)}")
    other = "mpicc.openmpi" if family == "mpich" else "mpicc.mpich"
    if family == "mpich":
        launch[0] = "mpiexec.hydra"  # whose name does not say which compiler belongs to it
    if not shutil.which(other):
        pytest.skip("there is one MPI only")
    first = tmp_path / "bin"
    first.mkdir()
    (first / "mpicc").symlink_to(shutil.which(other))
    monkeypatch.setenv("PATH", f"{first}:{os.environ['PATH']}")
    done = record([*launch, wrapper], collectives="ring")
    assert done.graph is not None, done.problem
    assert (done.graph.n, done.graph.total_volume) == (4, 16)
    assert len(done.graph.meta["recorded"]["hosts"]) == 4


@pytest.mark.skipif(not INTEL.exists(), reason="Intel MPI is not installed")
def test_the_compiler_of_intel_mpi_is_missing():
    """Its package for running has none; that of another MPI would be loaded beside it."""
    wrapper = script("exit 0")
    compiled("mpich")
    with pytest.raises(UnsupportedError, match=r"its MPI is MPICH .* is the launcher of Intel MPI, expected"):
        record([str(INTEL), "-n", "2", wrapper])
    with pytest.raises(UnsupportedError, match="is the launcher of Intel MPI, expected the compiler"):
        record([str(INTEL), "-n", "2", wrapper], compiler=mpi("openmpi 4.1")[1])


def test_processes_that_do_not_hear_of_their_launcher():
    """Each is rank 0 of 1, and the first file is not overwritten by the others."""
    launch, _ = mpi("mpich")
    wrapper = script(f"unset PMI_FD PMI_RANK PMI_SIZE PMI_PORT PMI_ID\nexec {compiled('mpich')}")
    done = record([*launch, wrapper], hosts=False)
    assert done.graph is None
    assert done.problem.startswith("each of 4 processes was alone, rank 0 of 1: ./wrapper.sh uses MPICH")
    assert done.problem.endswith("expected a launcher that its MPI supports")


def test_what_was_assumed_is_said():
    """A program that loads no MPI by itself is no script."""
    launch, _ = mpi("openmpi 4.1")
    done = record([*launch, "true"], hosts=False)
    assert "true loads no MPI by itself: Open MPI was assumed" in done.problem
    done = record([*launch, script("exit 0")], hosts=False)
    assert "./wrapper.sh is a script: Open MPI was assumed" in done.problem
