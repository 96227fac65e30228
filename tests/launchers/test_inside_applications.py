"""Applications as they are, with another order of ranks from inside: what they send and what they compute."""

import os
import re
import shlex
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
import several_hosts
from several_hosts import HOSTS, farm

import hopbytes as hb
from bench.lab.programs import MELT

pytestmark = [pytest.mark.launcher, pytest.mark.slow, pytest.mark.usefixtures("mpi_folder")]
CAVITY = Path("/usr/share/doc/openfoam-examples/examples/incompressible/icoFoam/cavity/cavity")
FOAM = {"WM_PROJECT_DIR": "/usr/share/openfoam"}
#: Subdomain i exchanges with i - 1 and i + 1.
IN_A_ROW = """FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }
numberOfSubdomains 4;
method simple;
simpleCoeffs { n (4 1 1); delta 0.001; }
"""
HPCC = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """These programs compute for some seconds, and on a busy computer they wait long."""
    monkeypatch.setattr(several_hosts, "PATIENCE", 300)
    monkeypatch.setattr(several_hosts, "IDLE", 60)


def lammps(folder):
    (folder / "in.melt").write_text(MELT.replace("0 32 0 24 0 16", "0 12 0 4 0 4"))
    return ["lmp", "-in", "in.melt", "-log", "none"]


def openfoam(folder):
    """Prepare the cavity in four strips; what is computed is written in binary form."""
    if not CAVITY.exists():
        pytest.skip("openfoam-examples is not installed")
    shutil.copytree(CAVITY, folder, dirs_exist_ok=True)
    (folder / "system/decomposeParDict").write_text(IN_A_ROW)
    control = folder / "system/controlDict"
    control.write_text(control.read_text().replace("0.5;", "0.1;"))
    for tool in ("blockMesh", "decomposePar"):
        subprocess.run([tool], cwd=folder, env=os.environ | FOAM, check=True, capture_output=True)
    return ["icoFoam", "-parallel"]


def hpcc(folder):
    if not HPCC.exists():
        pytest.skip("hpcc is not installed")
    (folder / "hpccinf.txt").write_text(HPCC.read_text().replace("1000 ", "100 "))
    return ["hpcc"]


def numbers(text):
    """Return the lines of an output that do not depend on times and processes."""
    kept = r"^ +\d+ +-?\d|^(?:smoothSolver|DICPCG|DILUPBiCG|time step continuity|Courant|Time = )"
    return [line for line in text.splitlines() if re.match(kept, line)]


def hosts_of(pattern):
    return pattern.meta["recorded"]["hosts"]


def between(pattern, hosts):
    """Bytes between ranks on different hosts."""
    arcs = (pattern.sources(), pattern.targets, pattern.arc_volumes())
    return sum(int(volume) for a, b, volume in zip(*arcs, strict=True) if hosts[a] != hosts[b])


def recorded(hosts, name, words, settings):
    """Record what four ranks of a program send; return the pattern and what they printed."""
    line = ["record", "--cc", hosts.compiler, "-o", f"{name}.pattern", "--", *hosts.words, *words]
    here = replace(hosts, environment=hosts.environment | settings)
    try:
        done = here.hopbytes(*line)
    except AssertionError as error:
        # On a busy computer mpirun 4.1 may see the end of a process before what it said of its MPI_Finalize.
        if "Total wall time" not in str(error) or "exiting improperly" not in str(error):
            raise
        done = here.hopbytes(*line)
    return hb.read(str(hosts.folder / f"{name}.pattern")), done.stdout


def three_ways(folder, prepare):
    """Run four ranks on two hosts: in turn, by a rank file, and in turn with the order from inside."""
    hosts = farm("openmpi-4", folder)
    (folder / "hosts").write_text("".join(f"{host} slots=2\n" for host in HOSTS[:2]))
    hosts.environment.update({"OMPI_MCA_mpi_yield_when_idle": "1"} | FOAM)
    program = prepare(folder)
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    in_turn = ["--map-by", "node", "-n", "4", *program]
    launched = recorded(hosts, "launched", in_turn, {})
    where = hb.allocate("node:2@40 core:2@1")
    node, slot = divmod(hb.map_tasks(launched[0], where).pe, 2)
    lines = [f"rank {i}={HOSTS[node[i]]} slot={slot[i]}\n" for i in range(4)]
    (folder / "ranks").write_text("".join(lines))
    by_file = recorded(hosts, "by_file", ["-rf", "ranks", "-n", "4", *program], {})
    line = ["run", "--inside", "--pattern", "launched.pattern", "--dry-run", "-o", "x", "--", *hosts.words]
    done = hosts.hopbytes(*line, *in_turn)
    words = shlex.split((done.stdout + done.stderr).partition("launch: ")[2])
    settings = dict(word.split("=", 1) for word in words[: words.index(hosts.words[0])])
    inside = recorded(hosts, "inside", in_turn, settings)
    assert hosts_of(launched[0]) == [HOSTS[0], HOSTS[1]] * 2
    return launched, by_file, inside


@pytest.mark.parametrize("prepare", [lammps, openfoam])
def test_what_crosses_hosts_is_that_of_a_rank_file(tmp_path, prepare):
    """All three runs send the same messages and print the same numbers."""
    launched, by_file, inside = three_ways(tmp_path, prepare)
    crossing = [between(pattern, hosts_of(pattern)) for pattern, _ in (launched, by_file, inside)]
    assert crossing[0] > crossing[1] == crossing[2] > 0
    shown = [numbers(text) for _, text in (launched, by_file, inside)]
    assert shown[0] == shown[1] == shown[2] != []


def test_hpcc_passes_its_checks(tmp_path):
    """Its messages depend on the time, so those of the first run are counted; some of them gain nothing."""
    launched, by_file, inside = three_ways(tmp_path, hpcc)
    pattern = launched[0]
    crossing = [between(pattern, hosts_of(each)) for each, _ in (launched, by_file, inside)]
    assert crossing[0] >= crossing[1] == crossing[2] > 0
    text = (tmp_path / "hpccoutf.txt").read_text()
    assert text.count("Success=1") == text.count("End of HPC Challenge tests") == 3
