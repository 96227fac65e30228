"""Every example of README.md and docs/ that starts a launcher runs, under each launcher it is for."""

import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from document_examples import examples, printed_launches
from several_hosts import HOSTS, build, farm, launched
from slurm_nodes import needs_slurm, slurm_cluster
from test_openmpi import node_xml

import hopbytes as hb
from helpers.paths import ROOT, executable
from helpers.thorough import THOROUGH

EXAMPLES = examples()
LAUNCHES = [one for one in EXAMPLES if one.launches and not one.reason]


def scripts(folder, **programs):
    """Make programs of other names for some programs; return the folder they are in."""
    folder.mkdir()
    for name, words in programs.items():
        executable(folder / name, f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    return folder


KINDS = ("openmpi-5", "openmpi-4", "hydra")


@pytest.fixture(scope="module", params=KINDS)
def hosts(request, tmp_path_factory):
    """Four hosts, one MPI under the names that users type, and the files that the examples name."""
    found = farm(request.param, tmp_path_factory.mktemp("examples"))
    build(found.compiler, found.folder)
    folder = scripts(
        found.folder / "bin", mpirun=found.launch, mpiexec=found.launch, mpicc=[shutil.which(found.compiler)],
        hopbytes=[sys.executable, "-m", "hopbytes"], python=[sys.executable],
    )  # fmt: skip
    hostfile = str(found.folder / "hosts")
    environment = found.environment | {"PATH": f"{folder}:/usr/bin:/bin"}
    if request.param == "hydra":
        nodes = found.folder / "nodes"
        nodes.write_text("".join(f"{host}\n{host}\n" for host in HOSTS))
        environment |= {"HYDRA_HOST_FILE": hostfile, "PBS_NODEFILE": str(nodes)}
    else:
        names = {"4": "OMPI_MCA_orte_default_hostfile", "5": "PRTE_MCA_prte_default_hostfile"}
        environment[names[request.param[-1]]] = hostfile
    found = dataclasses.replace(found, environment=environment)
    shutil.copytree(ROOT / "examples", found.folder / "examples")
    found.hopbytes("write", "stencil:2x4", "-o", "app.pattern")
    found.hopbytes("write", "stencil:2x4", "-o", "lj.pattern")
    found.hopbytes("probe", "-o", "job.machine.json", "--", *found.once)
    for name in ("lj", "placed"):
        found.hopbytes(
            "map", "lj.pattern", "--on", "job.machine.json", "--for", found.form, "-o", f"{name}.json"
        )
    if found.form == "openmpi":
        found.hopbytes("write", "lj.json", "--format", "openmpi", "-o", "lj.rankfile")
    return request.param, found, shutil.copytree(found.folder, tmp_path_factory.mktemp("prepared") / "files")


def run_as_typed(command, folder, environment):
    """Run a line as a shell does."""
    done = launched(["sh", "-c", command], cwd=folder, env=environment)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


@pytest.mark.xdist_group("hosts")
@pytest.mark.launcher
@pytest.mark.parametrize("example", LAUNCHES, ids=str)
def test_an_example_runs(hosts, example):
    kind, found, prepared = hosts
    command = example.scaled()
    turn = KINDS[LAUNCHES.index(example) % len(KINDS)]  # what is for all launchers is run by one of them
    if example.only not in ("", kind) or " srun " in f" {command}":
        pytest.skip("for another launcher")
    if "hopbytes bench-pattern" in command and kind != "openmpi-5":
        pytest.skip("the mpi4py of this environment is for another MPI")
    if not (THOROUGH or example.only or "bench-pattern" in command or kind == turn):
        pytest.skip(f"run by {turn}, by all with HOPBYTES_TESTS=all")
    # Another example may have recorded another app.pattern; the order of tests decides nothing.
    shutil.copytree(prepared, found.folder, dirs_exist_ok=True)
    run_as_typed(command, found.folder, found.environment)


PREPARED = """\
set -e
hopbytes write stencil:2x4 -o app.pattern && hopbytes write stencil:2x4 -o lj.pattern
hopbytes probe -o job.machine.json -- srun -N4 -n4
for name in lj placed; do hopbytes map lj.pattern --on job.machine.json -o $name.json; done
"""


def run_in_a_job(folder, programs, cluster):
    """Run the script ``job`` of a folder inside a job of Slurm."""
    environment = {**cluster, "PATH": f"{programs}:{cluster['PATH']}", "SLURM_MPI_TYPE": "pmi2"}
    run_as_typed("salloc -Q -N4 -n8 --ntasks-per-node=2 sh job", folder, environment)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A folder with the files that the examples name, made in a job of Slurm, and the folder of programs."""
    folder = tmp_path_factory.mktemp("prepared")
    build("mpicc.mpich", folder)
    programs = scripts(
        folder / "bin", mpicc=[shutil.which("mpicc.mpich")], hopbytes=[sys.executable, "-m", "hopbytes"]
    )
    (folder / "job").write_text(PREPARED)
    with slurm_cluster(tmp_path_factory.mktemp("slurm") / "first") as cluster:
        run_in_a_job(folder, programs, cluster)
    return folder, programs


@pytest.mark.xdist_group("slurm")
@pytest.mark.launcher
@needs_slurm
@pytest.mark.parametrize("example", LAUNCHES, ids=str)
def test_an_example_runs_under_slurm(tmp_path, example, request):
    """README says: write srun instead of mpirun where that starts your programs."""
    command = re.sub(r"(^| )mpirun (?=-n )", r"\1srun ", example.scaled())
    foreign = "mpirun" in command or re.search(r"srun .*(--map-by|--bind-to|-rf)", command)
    if example.only not in ("", "slurm") or foreign:
        pytest.skip("for another launcher")
    if "hopbytes bench-pattern" in command or "hopbytes probe --measure" in command:
        pytest.skip("the mpi4py of this environment is for another MPI")
    for_slurm = example.only or "srun " in example.command
    if not (THOROUGH or for_slurm or LAUNCHES.index(example) % 2):
        pytest.skip("run by another launcher, and by Slurm with HOPBYTES_TESTS=all")
    made, programs = request.getfixturevalue("prepared")
    folder = shutil.copytree(made, tmp_path / "here")
    # The compiler beside srun is the system's, which may be another MPI's.
    command = command.replace("hopbytes record ", f"hopbytes record --cc {programs}/mpicc ")
    (folder / "job").write_text(f"set -e\n{command}\n")
    with slurm_cluster(tmp_path / "slurm") as cluster:
        run_in_a_job(folder, programs, cluster)


@pytest.mark.xdist_group("hosts")
@pytest.mark.launcher
@pytest.mark.parametrize("example", [one for one in EXAMPLES if not one.launches and not one.reason], ids=str)
def test_what_an_example_prints_is_understood_by_the_launcher(hosts, example):
    """On hosts that are not there, so the launcher reads the files and only says what it would do."""
    kind, found, _ = hosts
    if found.form != "openmpi" or "--format openmpi" not in example.command:
        pytest.skip("for another launcher")
    (found.folder / "node.xml").write_text(node_xml(2, 16))
    done = run_as_typed(f"{example.command} --force", found.folder, found.environment)
    *before, last = done.stderr.splitlines()
    assert last.startswith("launch: mpirun -n ")
    assert not [line for line in before if "mpirun -n" in line]
    options = "--do-not-launch --do-not-resolve"
    ranks = int(re.search(r"-n (\d+)", last)[1])
    if kind == "openmpi-5":
        options = simulated(found.folder, re.search(r"-o (\S+)", example.command)[1])
    elif ranks > 64:
        pytest.skip("Open MPI 4 looks up the host of every rank, a fifth of a second each without DNS")
    command = last.removeprefix("launch: ").replace("mpirun ", f"mpirun {options} ", 1)
    shown = launched(["sh", "-c", command], cwd=found.folder, env=found.environment)
    assert shown.returncode == 0, command + shown.stdout + shown.stderr
    if kind == "openmpi-5":  # version 4 prints no map of a rankfile that it does not launch
        assert len(set(re.findall(r"Data for proc: \[\S+,(\d+)\]", shown.stdout))) == ranks


def simulated(folder, stem):
    """Rename the hosts of launch files as Open MPI 5 calls hosts that it invents; return its options."""
    slots = re.findall(r"^(\S+) slots=(\d+)$", (folder / f"{stem}.hosts").read_text(), re.MULTILINE)
    cores = int(slots[0][1])
    (folder / "invented.xml").write_text(node_xml(2, cores // 2))
    for path in (folder / stem, folder / f"{stem}.hosts"):
        text = path.read_text()
        for number, (host, _) in enumerate(slots):
            text = re.sub(rf"(^|=){re.escape(host)} ", rf"\1nodeA{number} ", text, flags=re.MULTILINE)
        path.write_text(text)
    parameters = {"": "simulator", "num_nodes": len(slots), "slots": cores, "topo_files": "invented.xml"}
    names = (f"ras_simulator_{name}" if name else "ras" for name in parameters)
    said = (f"--prtemca {name} {value}" for name, value in zip(names, parameters.values(), strict=True))
    return f"{' '.join(said)} --do-not-launch --display map"


def test_printed_lines_are_those_that_are_printed(tmp_path):
    """What the documents show as the answer is what some MPI gets, to the letter."""
    shown = printed_launches()
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "node.xml").write_text(node_xml(2, 16))
    hb.write(hb.read("stencil:8x8"), str(tmp_path / "app.pattern"))
    printed = {one.document: set() for one in shown}
    for example in EXAMPLES:
        if not example.launches and " map " in example.command and example.document in printed:
            words = [sys.executable, "-m", *shlex.split(example.command), "--json", "--force"]
            done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            record = json.loads(done.stdout)
            printed[example.document] |= {record["launch"], *record["launches"].values()}
    assert [one for one in shown if one.command not in printed[one.document]] == []


def test_examples_were_found():
    assert sum(one.launches for one in EXAMPLES) > 8
    assert os.path.isdir(ROOT / "examples")
