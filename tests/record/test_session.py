"""Programs recorded under real MPI: exact matrices for every class of calls."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import hopbytes as hb
from helpers.graphs import arcs_of
from helpers.paths import executable
from helpers.real_mpi import FAMILIES, mpi, no_compiler, program_of
from hopbytes.errors import UnsupportedError
from hopbytes.formats.base import WAITING
from hopbytes.launch.installed import recognise
from hopbytes.record.application import Application
from hopbytes.record.session import reason, record

CALLS = Path(__file__).parent / "calls.c"
OPEN_MPI = ["openmpi 5", "openmpi 4.1"]
pytestmark = pytest.mark.usefixtures("mpi_folder")
INT = 4
NEXT = {(i, (i + 1) % 4) for i in range(4)}
P2P = INT * (1 + 2 + 4 + 8 + 16 + 3 * 32 + 64 + 2 * 64)


def with_calls(family, *flags):
    """Return (launch words, compiler, calls.c compiled)."""
    return program_of(family, CALLS, *flags)


def counted(family, *calls, **options):
    """Record by the interposer; return (source, target) → bytes, and the graph."""
    launch, compiler, program = with_calls(family)
    done = record([*launch, program, *calls], compiler=compiler, **options)
    assert done.graph is not None, done.problem
    assert done.code == 0
    return arcs_of(done.graph), done.graph


@pytest.mark.launcher
@pytest.mark.parametrize("family", ["openmpi 5", "mpich"])
def test_messages_of_every_kind(family):
    """Point-to-point, and sub-communicators with reversed ranks: exact."""
    found, graph = counted(family, "p2p")
    assert found == dict.fromkeys(NEXT, P2P)
    assert set(graph.messages.tolist()) == {10}  # the sends to MPI_PROC_NULL are nobody's
    assert graph.meta["recorded"]["hosts"] == [graph.meta["recorded"]["hosts"][0]] * 4
    found, graph = counted(family, "sub", per_communicator=True)
    assert found == {(2, 0): 30, (3, 1): 30}
    assert graph.meta["recorded"]["communicators"] == [
        {"ranks": [2, 0], "bytes": 30}, {"ranks": [3, 1], "bytes": 30}
    ]


@pytest.mark.launcher
@pytest.mark.parametrize("family", ["openmpi 5", "mpich"])
def test_phases_and_warnings(family):
    found, graph = counted(family, "phases", "split_type")
    assert found == dict.fromkeys(NEXT, 10 + 30 + 40)
    assert graph.meta["recorded"]["phases"] == {"2": 160, "3": 160}
    assert any("MPI_Comm_split_type" in notice for notice in graph.meta["notices"])
    assert counted(family, "phases", phase=3)[0] == dict.fromkeys(NEXT, 40)
    kept = counted(family, "phases", phase="all")[1]
    assert arcs_of(kept) == found
    assert [arcs_of(phase) for phase in kept.phases] == [
        counted(family, "phases", phase=int(phase.name.split()[1]))[0] for phase in kept.phases
    ]
    assert len(kept.phases) == 2
    alone = counted(family, "p2p", phase="all")[1]
    assert alone.phases == ()
    assert any("one phase only" in notice for notice in alone.meta["notices"])
    nothing, graph = counted(family, "p2p", skip_first=1000.0)
    assert nothing == {}
    assert any("0 of 4" in notice for notice in graph.meta["notices"])


@pytest.mark.launcher
def test_traffic_that_escapes_is_named(tmp_path):
    """Shared memory, and libraries really loaded: those of collectives escape Open MPI's counting alone."""
    launch, compiler = mpi("openmpi 5")
    (tmp_path / "empty.c").write_text("")
    fakes = ["libnccl.so.2", "libhcoll.so.1"]
    for fake in fakes:
        subprocess.run(["cc", "-shared", "-fPIC", "empty.c", "-o", fake, f"-Wl,-soname,{fake}"], check=True)
    linked = ["-Wl,--no-as-needed", *fakes, f"-Wl,-rpath,{tmp_path}"]
    words = [compiler, "-DNO_NEIGHBOURS", str(CALLS), "-w", "-o", "escaping", *linked]
    subprocess.run(words, check=True)
    memory = "memory is shared (MPI_Win_allocate_shared): loads and stores are not in the pattern"
    past = "{} was in use: data that it sent without MPI messages is not in the pattern"
    for options, libraries in (({}, ["hcoll", "NCCL"]), ({"compiler": compiler}, ["NCCL"])):
        done = record([*launch, "./escaping", "shared", "p2p"], **options)
        assert done.graph is not None, done.problem
        assert done.graph.meta["notices"] == [memory, *map(past.format, libraries)]
        assert set(fakes) <= set(done.graph.meta["recorded"]["libraries"])


NAMES = {"mpirun.openmpi": "openmpi", "mpirun.mpich": "hydra", "mpiexec.hydra": "hydra"}


@pytest.mark.parametrize(("name", "form"), NAMES.items())
def test_launchers_by_other_names(name, form):
    if not shutil.which(name):
        pytest.skip(f"no {name}")
    launcher, words = recognise([name, "-n", "2"])
    assert (launcher.form, words) == (form, 1)


@pytest.mark.launcher
@pytest.mark.parametrize("family", OPEN_MPI)
def test_monitoring_of_open_mpi(family):
    """The same program counted by Open MPI itself: the same matrix, hosts, and the parts of MPI in use."""
    launch, _, program = with_calls(family, "-DNO_NEIGHBOURS")
    done = record([*launch, program, "p2p"])
    assert done.code == 0
    assert done.graph is not None, done.problem
    # Its component does not count persistent sends; those are the interposer's.
    assert arcs_of(done.graph) == dict.fromkeys(NEXT, P2P)
    assert set(done.graph.messages.tolist()) == {10}
    facts = done.graph.meta["recorded"]
    assert facts["by"] == "monitoring (E + I + S + R) and persistent sends by the interposer"
    assert len(facts["hosts"]) == 4
    assert facts["elapsed_seconds"] > 0
    assert facts["components"]["pml"] == ["monitoring"]
    assert "self" in facts["components"]["btl"]
    # Messages that a broadcast became are seen without a model.
    done = record([*launch, program, "bcast"])
    assert done.graph is not None
    assert done.graph.total_volume >= 3 * 20


@pytest.mark.launcher
@pytest.mark.parametrize("family", OPEN_MPI)
def test_neighbourhoods_survive(family):
    """The monitoring of Open MPI crashes on neighbourhoods of graphs: the interposer counts such programs."""
    launch, _, program = with_calls(family)
    done = record([*launch, program, "near"])
    assert (done.code, done.problem) == (0, "")
    assert done.graph is not None
    assert done.graph.meta["recorded"]["by"] == "interposer"
    assert done.graph.meta["recorded"]["components"]["pml"] == ["ob1"]
    assert arcs_of(done.graph)[3, 0] == 100


@pytest.mark.launcher
def test_settings_that_would_leave_the_monitoring_out(monkeypatch, tmp_path):
    """Components named by the environment or a file get it added; typed ones go to the interposer."""
    launch, _, program = with_calls("openmpi 5", "-DNO_NEIGHBOURS")

    def by(*words):
        done = record([*launch, *words, "p2p"], hosts=False)
        assert done.graph is not None, done.problem
        assert arcs_of(done.graph) == dict.fromkeys(NEXT, P2P)
        return done.graph.meta["recorded"]["by"]

    assert by("--mca", "pml", "ob1", program) == "interposer"
    assert by("--mca", "pml", "^ucx", program).startswith("monitoring")
    monkeypatch.setenv("OMPI_MCA_pml", "ob1")
    assert by(program).startswith("monitoring")
    monkeypatch.delenv("OMPI_MCA_pml")
    (tmp_path / "settings").write_text("pml = ob1\n")
    monkeypatch.setenv("OMPI_MCA_mca_base_param_files", str(tmp_path / "settings"))
    assert by(program).startswith("monitoring")
    monkeypatch.setattr("hopbytes.record.session.interposer_for", no_compiler)
    with pytest.raises(UnsupportedError, match="--mca pml ob1: excludes Open MPI's monitoring, expected"):
        record([*launch, "--mca", "pml", "ob1", program, "p2p"])


#: A remote shell that hands on nothing of the environment, as on a cluster.
SHELL = """#!/bin/sh
while [ $# -gt 0 ]; do case $1 in -*) shift;; *) break;; esac; done
shift
exec env -i PATH="$PATH" HOME="$HOME" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \\
  PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$*"
"""


@pytest.mark.launcher
@pytest.mark.parametrize("family", OPEN_MPI)
def test_other_nodes_are_counted(family, tmp_path, monkeypatch):
    """Open MPI brings only its own settings to other nodes; the interposer gets there all the same."""
    launch, compiler, program = with_calls(family, "-DNO_NEIGHBOURS")
    shell = tmp_path / "shell"
    executable(shell, SHELL)
    monkeypatch.setenv("OMPI_MCA_plm_rsh_agent", str(shell))
    monkeypatch.setenv("PRTE_MCA_plm_ssh_agent", str(shell))
    monkeypatch.setenv("OMPI_MCA_btl_tcp_if_include", "lo")
    monkeypatch.setenv("OMPI_MCA_btl", "self,tcp")  # they would mix up their shared memory
    nodes = ["--host", f"{os.uname().nodename}:2,127.0.0.2:2"]
    words = [*launch, *nodes, program, "p2p"]
    if subprocess.run(words, capture_output=True, timeout=60).returncode:
        pytest.skip("this computer cannot be two nodes")
    for options in ({}, {"compiler": compiler}):
        done = record([*launch, *nodes, program, "p2p"], hosts=False, **options)
        assert done.code == 0
        assert done.graph is not None, done.problem
        assert arcs_of(done.graph) == dict.fromkeys(NEXT, P2P)


@pytest.mark.launcher
def test_the_command_passes_everything_through(tmp_path):
    """Output and exit code are the program's; the pattern is written beside; no folder is left."""
    launch, _, program = with_calls("openmpi 5", "-DNO_NEIGHBOURS")
    words = [sys.executable, "-m", "hopbytes", "record", "-o", "app.pattern", "--no-hosts", "--"]
    words += [*launch, program, "p2p"]
    quiet = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run(words, **quiet)
    assert (done.returncode, done.stdout) == (0, "said by the program\n"), done.stderr
    fits = hb.allocate("local").k >= 4
    now = "map app.pattern --on local" if fits else "advise app.pattern --on 'node:2 core:2'"
    assert done.stderr.splitlines()[-1] == f"now: hopbytes {now}"
    assert hb.read("app.pattern").n == 4
    # The launcher ends the other ranks when one fails, so what is left of the recording is not certain.
    assert subprocess.run([*words, "fail"], **quiet).returncode == 7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.pattern", "app.trace.gz"]
    assert WAITING in hb.read("app.pattern").meta


@pytest.mark.launcher
@pytest.mark.parametrize("family", FAMILIES)
def test_input_and_signals_reach_the_program(family):
    """A line of input goes to rank 0, a signal sent to us to every rank, and all of it is recorded."""
    launch, compiler, program = with_calls(family, "-DNO_NEIGHBOURS")
    words = [sys.executable, "-m", "hopbytes", "record", "-o", "app.pattern", "--no-hosts", "-q"]
    words += ["--cc", compiler]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*words, "--", *launch, program, "listening", "p2p"], **pipes) as ours:
        assert ours.stdin is not None
        assert ours.stdout is not None
        ours.stdin.write("a line\n")
        ours.stdin.flush()
        said = [ours.stdout.readline()]
        ours.send_signal(signal.SIGUSR1)
        ours.stdin.close()
        said += ours.stdout.readlines()
        assert ours.wait(60) == 0
    assert said[0] == "heard a line\n"
    assert "".join(said).count("signal 1") == 4  # launchers may mix the lines of ranks
    assert arcs_of(hb.read("app.pattern")) == dict.fromkeys(NEXT, P2P)


@pytest.mark.launcher
def test_a_compiler_of_another_mpi_is_refused():
    """Two MPIs in one program would be loaded otherwise."""
    launch, _, program = with_calls("openmpi 5", "-DNO_NEIGHBOURS")
    _, other = mpi("mpich")
    said = r"its MPI is MPICH \(.*mpi.*\); .* uses .*libmpi.*, expected the compiler of"
    with pytest.raises(UnsupportedError, match=said):
        record([*launch, program, "p2p"], compiler=other)


@pytest.mark.launcher
def test_what_cannot_be_recorded_is_said_first(tmp_path):
    launch, _, _ = mpi("openmpi")
    with pytest.raises(UnsupportedError, match=r"\./missing: not found or not executable"):
        record([*launch, "./missing"])
    with pytest.raises(UnsupportedError, match="no program"):
        record(launch)
    source = tmp_path / "static.c"
    source.write_text("int main(void) { return 0; }\n")
    static = subprocess.run(["cc", "-static", str(source), "-o", "static"], capture_output=True)
    if static.returncode == 0:
        with pytest.raises(UnsupportedError, match="linked statically"):
            record([*launch, "./static"])
    with pytest.raises(UnsupportedError, match="expected the application's MPI compiler"):
        record([*launch, "true"], compiler="no-such-mpicc")
    done = record([*launch, "true"], hosts=False)
    assert done.graph is None
    assert re.match("no rank wrote anything", done.problem)


@pytest.mark.launcher
@pytest.mark.parametrize("variable", ["OMPI_MCA_pml_monitoring_enable_output", "LD_PRELOAD"])
def test_ranks_that_left_nothing_are_named(tmp_path, variable):
    """A rank, or all of a node, that wrote nothing: which, and where it ran."""
    launch, compiler, program = with_calls("openmpi 5", "-DNO_NEIGHBOURS")
    options = {"compiler": compiler} if variable == "LD_PRELOAD" else {}
    script = tmp_path / "app.sh"
    executable(
        script,
        f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK" = 2 ] && unset {variable}\nexec {program} p2p\n',
    )
    done = record([*launch, str(script)], **options)
    assert done.graph is None
    where = os.uname().nodename
    assert done.problem == (
        f"the recording is not complete: 1 of 4 ranks missing (2, on {where}): "
        "they never reached MPI_Finalize"
    )


@pytest.mark.launcher
def test_mpi_linked_statically_is_named(tmp_path):
    """The program is dynamic, its MPI is inside: it holds MPI's names and no library of it is loaded."""
    source = tmp_path / "inside.c"
    source.write_text("int PMPI_Init(void) { return 0; }\nint main(void) { return PMPI_Init(); }\n")
    if subprocess.run(["cc", str(source), "-o", "inside"], capture_output=True).returncode:
        pytest.skip("no C compiler")
    launch, _ = mpi("openmpi 5")
    done = record([*launch, "./inside"], hosts=False)
    inside = "MPI is linked into ./inside statically, expected a shared library"
    assert done.problem == f"no rank wrote anything: {inside}"


@pytest.mark.launcher
def test_a_rank_that_dies_is_named(tmp_path):
    launch, compiler, program = with_calls("openmpi 5")
    script = tmp_path / "app.sh"
    executable(script, f"#!/bin/sh\n{program} die\nexit 0\n")
    done = record([*launch, str(script)], compiler=compiler)
    assert done.graph is None
    assert done.problem == "the recording is not complete: rank 0 never reached MPI_Finalize"


def test_hosts_that_do_not_share_the_folder_are_named(monkeypatch, tmp_path):
    """Every rank of a host is missing: the folder is not shared with it."""
    for i in (0, 1):
        (tmp_path / f"rank.{i}.txt").write_text("")
    monkeypatch.setattr("hopbytes.record.session.hosts_of", lambda command: ["a", "a", "b", "b"])
    program = Application("./app", "mpich", True)
    said = reason(str(tmp_path), None, program, "2 of 4 ranks missing (2, 3)", 0, True)
    expected = f"2 of 4 ranks missing (2, 3, on b): {tmp_path.parent} is not shared with b"
    assert said == f"the recording is not complete: {expected}"
