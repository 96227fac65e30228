"""Launch formats beyond Open MPI and Slurm: what is written means the mapping, and is read back as it."""

import re
import shlex
import subprocess

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.errors import mentions, refused
from helpers.paths import executable
from helpers.placements import expand, mappings, place, read, write
from hopbytes.errors import FormatError, HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.formats.mappings import writers
from hopbytes.formats.mappings.numbering import Numbering, parse_cpus
from hopbytes.machines.allocate.allocate import allocate
from hopbytes.machines.allocate.slot_counts import spread
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import SlotUse
from hopbytes.model.mapping import Mapping
from hopbytes.text import hostlist

HOSTS = ("n2", "n1")
MACHINE = "node:2@10 package:2@3 core:2@1"

#: Ranks of a host consecutive, in any order inside it; as many on each.
BLOCKS = place(MACHINE, [6, 4, 5, 7, 1, 0, 3, 2], hosts=HOSTS)
IN_ORDER = place(MACHINE, [4, 5, 6, 7, 0, 1, 2, 3], hosts=HOSTS)
SCATTERED = place(MACHINE, [5, 0, 4, 1, 7, 2, 6, 3], hosts=HOSTS)
UNEQUAL = place(MACHINE, [4, 0, 1, 2], hosts=HOSTS)

BY_HOST = ("slurm", "hydra", "intel", "mvapich", "flux", "lsf", "pbs")
SCATTERING = ("openmpi", "slurm", "mvapich", "flux", "cray", "lsf", "pbs")
CONTIGUOUS = ("hydra", "intel", "pals", "hosts", "torchrun", "kubernetes")


def lines_of(written):
    return [line for line in written.files[""].splitlines() if not line.startswith("#")]


def slots_of_ranks(written):
    """CPUs of every rank by the script beside the file."""
    case = re.compile(r"^(\d+)\) cores=([\d,-]+) threads=(\d+)", re.MULTILINE)
    return {int(rank): expand(cores) for rank, cores, _ in case.findall(written.files[".place.sh"])}


@pytest.mark.parametrize("form", sorted({*BY_HOST, *CONTIGUOUS, "openmpi", "mesh"}))
@pytest.mark.parametrize("spec", [MACHINE, "node:2@10 gpu:4@1"])
def test_placeholders_for_unknown_hosts_are_said(form, spec):
    for hosts in (None, HOSTS):
        mapping = Mapping(range(8), allocate(spec, hosts=hosts), {"problem": "processes"})
        said = [notice for notice in write(form, mapping).notices if "host names are unknown" in notice]
        assert bool(said) == (hosts is None)


# ---------------------------------------------------------------- what is written

WIDE = place(MACHINE, [2, 3, 0, 1], hosts=HOSTS, cores_per_slot=2)
#: No renumbering makes nodes alike that pair ranks 0 1 | 2 3 and 4 6 | 5 7 in their packages.
UNLIKE = place(MACHINE, [4, 5, 6, 7, 0, 2, 1, 3], hosts=HOSTS)
#: Known answers: format, mapping, lines of the file, and a part of the command. That they mean the mapping is
#: checked under the rules of every launcher by tests/contracts/test_every_version.py.
KNOWN = [
    ("hydra", BLOCKS, "n1:4 n2:4", "mpiexec.hydra -f {stem} -n 8 -bind-to none sh {stem}.place.sh ./app"),
    ("hydra", WIDE, "n1:2 n2:2", "-bind-to user:0+1,2+3 ./app"),
    ("intel", WIDE, "n1:2 n2:2", "-genv I_MPI_PIN_DOMAIN='[0x3,0xc]' -genv OMP_NUM_THREADS 2"),
    ("intel", IN_ORDER, "n1:4 n2:4", "-genv I_MPI_PIN_PROCESSOR_LIST=0,1,2,3 ./app"),
    ("intel", UNEQUAL, "n1:1 n2:3", "-genv I_MPI_PIN=off sh {stem}.place.sh ./app"),
    ("pals", WIDE, "n1 n2", "OMP_NUM_THREADS=2 OMP_PLACES=cores mpiexec -n 4 --ppn 2 --hostfile {stem} "
     "--cpu-bind list:0-1:2-3 ./app"),
    ("mvapich", place(MACHINE, [2, 3, 0], hosts=HOSTS, cores_per_slot=2), "n1 n1 n2",
     "mpirun_rsh -np 3 -hostfile {stem} MV2_CPU_MAPPING=0-1:2-3 OMP_NUM_THREADS=2 OMP_PLACES=cores ./app"),
    ("flux", SCATTERED, "n1 n2 n1 n2 n1 n2 n1 n2", "--tasks-per-node=4 --requires=hosts:n2,n1 "
     "--taskmap=hostfile:{stem} -o cpu-affinity='map:0;1;2;3'"),
    ("lsf", UNEQUAL, "n1 1 n2 3", "bsub -hostfile {stem} mpiexec -n 4 --hostfile {stem}.ranks --map-by seq"),
    ("pbs", UNEQUAL, "n1 n2 n2 n2", "--hostfile {stem} --map-by seq --bind-to none sh {stem}.place.sh ./app"),
    # Slurm sorts n1 before n2 although the machine has n2 first.
    ("cray", SCATTERED, "2,0,6,4,1,3,5,7", "--distribution=block --cpu-bind=map_cpu:0,1,2,3 ./app"),
    # The processes of n1 come first whatever their rank: they sit on cores 0 and 3, those of n2 on 1 and 2.
    ("cray", place(MACHINE, [2, 7, 1, 4], hosts=HOSTS), "3,1,2,0", "--cpu-bind=none sh {stem}.place.sh"),
    ("jsrun", Mapping(np.array([1, 2], np.int32), allocate("node:2 core:2 pu:4", hosts=("a", "b"))),
     "overlapping_rs: warn cpu_index_using: logical rank: 0: { hostname: a; cpu: {4-7} } "
     "rank: 1: { hostname: b; cpu: {0-3} }", "jsrun --erf_input {stem} ./app"),
]  # fmt: skip


@pytest.mark.parametrize(("form", "mapping", "lines", "command"), KNOWN)
def test_known_answers(form, mapping, lines, command):
    written = write(form, mapping)
    assert ("" if form == "cray" else " ").join(lines_of(written)) == lines
    assert command in written.launch


@pytest.mark.parametrize("form", ["hydra", "intel", "pals", "flux", "slurm", "mvapich"])
def test_a_list_that_cannot_serve_all_nodes_becomes_a_script(form):
    written = write(form, UNLIKE)
    assert " sh {stem}.place.sh ./app" in written.launch
    assert written.executable == (".place.sh",)
    assert slots_of_ranks(written) == {rank: [int(pe) % 4] for rank, pe in enumerate(UNLIKE.pe)}


def test_variables_with_the_rank_are_those_of_the_launcher():
    assert "${MV2_COMM_WORLD_RANK:-${PMI_RANK" in write("mvapich", UNLIKE).files[".place.sh"]
    cray = write("cray", place(MACHINE, [2, 7, 1, 4], hosts=HOSTS))
    assert slots_of_ranks(cray) == {0: [0], 1: [3], 2: [1], 3: [2]}
    assert "rank=${SLURM_PROCID:-}\n" in cray.files[".place.sh"]
    assert "'[[1,1,1,1],[0,1,1,1]" in " ".join(write("flux", SCATTERED).notices)


@pytest.mark.parametrize(("form", "word"), [
    ("flux", "--requires=hosts:node[00000-01999]"), ("torchrun", "--nodelist=node[00000-01999]"),
    ("cray", "--nodelist=node[00000-01999]"),
])  # fmt: skip
def test_no_argument_is_longer_than_a_command_may_have(monkeypatch, form, word):
    """Linux takes 131 072 bytes; with a smaller limit as many hosts as exceed it are not needed."""
    for module in (hostlist, writers):
        monkeypatch.setattr(module, "LONGEST_ARGUMENT", 1000)
    where = allocate("node:2001 core:1", hosts="node[00000-02000]")
    written = write(form, Mapping(range(2000), where, {"problem": "processes"}))
    words = shlex.split(written.launch)
    assert word in words
    assert max(map(len, [*words, *" ".join(written.notices).split()])) < 1000


@pytest.mark.parametrize("form", CONTIGUOUS)
def test_ranks_scattered_over_hosts_are_refused_with_what_would_work(form):
    with pytest.raises(UnsupportedError, match=rf"ranks 0 and 2 are on host n1 .*`form='{form}'`"):
        write(form, SCATTERED)


@pytest.mark.parametrize("form", ["cray", "flux", "pals", "hosts"])
def test_unequal_counts_are_refused_with_both_numbers(form):
    with pytest.raises(UnsupportedError, match=mentions("1", "n1", "3", "n2")):
        write(form, UNEQUAL)


@pytest.mark.parametrize("form", ["hosts", "torchrun", "kubernetes"])
def test_an_order_inside_nodes_is_refused_where_only_nodes_are_free(form):
    with pytest.raises(UnsupportedError, match=mentions("1", "0", "n1")):
        write(form, BLOCKS)


def test_jsrun_needs_hardware_threads():
    with pytest.raises(UnsupportedError, match="level pu"):
        write("jsrun", IN_ORDER)


def test_torchrun_finds_its_node_by_host_name(tmp_path):
    script = tmp_path / "launch"
    script.write_text(write("torchrun", place("node:2 core:2", [2, 3, 0, 1], hosts=("a.x", "b.x"))).files[""])
    for name, text in {"hostname": "echo $AM", "torchrun": 'echo "$@"'}.items():
        executable(tmp_path / name, f"#!/bin/sh\n{text}\n")

    def run(host, *words):
        env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "AM": host}
        return subprocess.run(["sh", script, *words], env=env, capture_output=True, text=True, timeout=30)

    expected = "--nnodes=2 --nproc-per-node=2 --node-rank={} --master-addr=b.x --master-port=29500 "
    expected += "train.py -x\n"
    assert run("b.x", "train.py", "-x").stdout == expected.format(0)
    assert run("a", "train.py", "-x").stdout == expected.format(1)
    assert run("c", "train.py").returncode == 1
    elastic = run("a", "--rdzv-backend=c10d", "train.py")
    assert (elastic.returncode, elastic.stdout) == (1, "")
    assert "elastic rendezvous" in elastic.stderr


# ---------------------------------------------------------------- numbers of cores


def test_cores_are_counted_among_those_allowed():
    """CPUs 2 to 5 of each node are ours: the launcher's core 0 is then the node's core 1."""
    where = allocate("node:2 core:3 pu:2", exclude="core=0", hosts=("a", "b"))
    mapping = Mapping(np.array([3, 0], np.int32), where)
    written = write("openmpi", mapping, allowed="2-5")
    assert lines_of(written) == ["rank 0=b slot=1", "rank 1=a slot=0"]
    assert lines_of(write("openmpi", mapping)) == ["rank 0=b slot=2", "rank 1=a slot=1"]
    with pytest.raises(InfeasibleError, match=mentions("4", "5")):
        write("openmpi", mapping, allowed="2-3")


@pytest.mark.parametrize("text", ["", "a", "1-", "3-1", "1,,2", "99999999"])
def test_allowed_cpus_that_are_none(text):
    with pytest.raises(FormatError, match="`allowed`"):
        parse_cpus(text)


@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 3), st.sets(st.integers(0, 11), min_size=1))
def test_numbers_agree_with_counting_by_hand(nodes, cores, threads, allowed):
    numbering = Numbering.of(
        parse_machine(f"node:{nodes} core:{cores} pu:{threads}"), ",".join(map(str, sorted(allowed)))
    )
    of_node = cores * threads
    for place_ in range(nodes * of_node):
        inside = place_ % of_node
        mine = np.array([place_])
        assert numbering.os_cpus(mine) == (inside,)
        if inside not in allowed:
            continue
        assert numbering.launcher_units(mine) == (sum(cpu in allowed for cpu in range(inside)),)
        usable = [core for core in range(cores) if any(core * threads + t in allowed for t in range(threads))]
        siblings = [cpu for cpu in allowed if cpu // threads == inside // threads and cpu < of_node]
        cores_found = numbering.launcher_cores(mine)
        assert cores_found == ((usable.index(inside // threads),) if len(siblings) == 1 else None)


# ---------------------------------------------------------------- reading back


@given(mappings())
@settings(deadline=None, max_examples=60)
def test_rankfiles_come_back(mapping):
    written = write("openmpi", mapping)
    where = mapping.where
    again = read("openmpi", written.files[""], where=where, n=mapping.n)
    assert np.array_equal(again.pe, mapping.pe)


@pytest.mark.parametrize("form", BY_HOST)
def test_lists_of_hosts_come_back_where_cores_are_in_order(form):
    again = read(form, write(form, IN_ORDER).files[""], where=IN_ORDER.where, n=8)
    assert again.pe.tolist() == IN_ORDER.pe.tolist()


@pytest.mark.parametrize("form", ["pals", "hosts"])
def test_lists_of_nodes_come_back(form):
    text = write(form, IN_ORDER).files[""]
    assert read(form, text, where=IN_ORDER.where, n=8).pe.tolist() == IN_ORDER.pe.tolist()
    assert read(form, text, where=IN_ORDER.where).pe.tolist() == IN_ORDER.pe.tolist()
    assert read(form, text, where=IN_ORDER.where, n=4).pe.tolist() == [4, 5, 0, 1]
    with pytest.raises(FormatError, match=mentions("2", "3")):
        read(form, text, where=IN_ORDER.where, n=3)


def test_rank_orders_come_back():
    mapping = place(MACHINE, [5, 0, 4, 1, 7, 2, 6, 3], hosts=("n1", "n2"))
    again = read("cray", write("cray", mapping).files[""], where=mapping.where, n=8)
    assert again.pe.tolist() == mapping.pe.tolist()
    foreign = read("cray", "# x\n0-1,4\n5 2,3,6-7\n", where=mapping.where)
    assert foreign.pe.tolist() == [0, 1, 4, 5, 2, 3, 6, 7]


@given(st.permutations(range(6)), st.sampled_from(["block", "cyclic"]))
def test_new_ranks_come_back(pes, launched):
    where = allocate("node:2 core:4")
    used = spread(where, 6, SlotUse(pack=launched == "block", spread=launched == "cyclic"))
    mapping = Mapping(used[np.array(pes)].astype(np.int32), where, {"problem": "processes"})
    again = read("newrank", write("newrank", mapping, launched=launched).files[""], where=where)
    assert again.pe.tolist() == mapping.pe.tolist()


def test_rankfiles_in_other_peoples_spelling():
    where = allocate("node:2 package:2 core:4", hosts=("aa", "bb.cluster"), cores_per_task=2)
    text = "rank 1 = bb slots=1:0-1 # c\n\nrank  0=aa   slot=0:2,3\nrank 2=+n1 slot=p0,p1\n"
    text += "RANK 3=bb slot=2-3\n"
    with pytest.raises(FormatError, match="slot 'p0,p1'"):
        read("openmpi", text, where=where)
    again = read("openmpi", text.replace("p0,p1", "p0-1"), where=where)
    assert again.pe.tolist() == [1, 6, 4, 5]


@pytest.mark.parametrize(("form", "text", "message"), [
    ("openmpi", "rank 0=a slot=0\nrank 2=a slot=1\n", "file: rank 1 is missing, expected 0 to 2"),
    ("openmpi", "rank 0=a slot=0\nrank 0=a slot=1\n", "file:2: rank 0 is repeated (first in line 1)"),
    ("openmpi", "rank 0=c slot=0\n", "file:1: host c, expected one of a, b"),
    ("openmpi", "rank 0=+n2 slot=0\n", "file:1: node +n2, expected +n0 to +n1"),
    ("openmpi", "rank 0=+nx slot=0\n", "file:1: node +nx, expected +n0 to +n1"),
    ("openmpi", "rank 0=a slot=4\n", "file:1: core 4 of node 0, expected cores of 0..3"),
    ("openmpi", "rank 0=a slot=1:0\n", "file:1: package 1, expected a machine with a level named"),
    ("openmpi", "rank 0=a slot=0:9\n", "file:1: core 9 of package 0, expected 0 to 3"),
    ("openmpi", "rank 0=a slot=x\n", "file:1: slot 'x', expected cores like 0-3,6 or 1:0-2"),
    ("openmpi", "rank 0 a\n", "file:1: 'rank 0 a', expected a line like"),
    ("openmpi", "", "file: 0 ranks, expected 2"),
    ("openmpi", "rank 0=a slot=0\nrank 1=a slot=1\nrank 2=b slot=0\n", "file: 3 ranks, expected 2"),
    ("slurm", "a\nc\n", "file:2: host c, expected one of a, b"),
    ("slurm", "a b\n", "file:1: 'a b', expected the name of a host"),
    ("slurm", "a\na\nb\n", "file: 3 ranks, expected 2"),
    ("hydra", "a:0\n", "file:1: 0 ranks on a, expected 1 or more"),
    ("hydra", "a:999999999\n", "expected 1 or more"),
    ("hydra", "a:1:2\n", "file:1: 'a:1:2', expected a host like n1:4"),
    ("cray", "0,1,1\n", "file:1: rank 1 occurs twice, expected every rank once"),
    ("cray", "0,2\n", "file: rank 1 is missing, expected 0 to 2"),
    ("cray", "0,x\n", "file:1: 'x', expected ranks like 0,1,4-7"),
    ("cray", "0-999999999\n", "file:1: '0-999999999', expected ranks like"),
    ("newrank", "0\n0\n", "file: new rank 0 occurs 2 times, expected every rank once"),
    ("newrank", "0\nx\n", "file:2: 'x'"),
    ("fujitsu", "(0,0,0)\n(3,0,0)\n", "file:2: no node at (3, 0, 0)"),
    ("fujitsu", "(0,0)\n(0,1)\n", "file:1: no node at (0, 0)"),
    ("fujitsu", "0,0,0\n", "file:1: '0,0,0', expected coordinates like (0,1,2)"),
    ("fujitsu", "", "file: 0 ranks, expected 2"),
])  # fmt: skip
def test_bad_files_are_named(form, text, message):
    torus = allocate("torus:3x2x2@10 / core:2@1")
    where = torus if form == "fujitsu" else allocate("node:2 core:4", hosts=("a", "b"))
    with refused(HopbytesError, message):
        read(form, text, where=where, n=2)


def test_a_placement_by_hosts_needs_a_machine():
    for form in ("openmpi", "slurm", "hydra", "cray", "newrank"):
        with pytest.raises(UnsupportedError, match="`where`"):
            read(form, {"openmpi": "rank 0=a slot=0\n", "newrank": "0\n", "cray": "0\n"}.get(form, "a\n"))
    nameless = allocate("node:2 core:4")
    with pytest.raises(FormatError, match=r"a machine whose nodes have names \(`hosts`\)"):
        read("slurm", "a\n", where=nameless)


@given(st.sampled_from([*BY_HOST, "pals", "hosts", "cray", "newrank", "openmpi"]), st.text(max_size=60))
@settings(deadline=None)
def test_any_text_is_read_or_refused_in_one_line(form, text):
    where = allocate("node:2 core:4", hosts=("a", "b"))
    said = ""
    try:
        assert read(form, text, where=where).where is where
    except HopbytesError as error:
        said = str(error)
    assert "\n" not in said


def test_every_launch_format_refuses_two_tasks_on_a_slot():
    for form in (*SCATTERING, *CONTIGUOUS):
        with pytest.raises(InfeasibleError, match=mentions("2", "0")):
            write(form, place("node:2@10 core:2@1", [0, 0, 1, 3]))
    assert set(SCATTERING) <= {name for name, form in formats.items() if form.capabilities.scattered_ranks}
    assert not any(formats[name].capabilities.scattered_ranks for name in CONTIGUOUS)


# ---------------------------------------------------------------- coordinates


def test_coordinates_of_a_torus_come_back():
    where = allocate("torus:3x2x2@10 / core:2@1")
    pe = np.array([5, 23, 0, 4, 1], np.int32)
    mapping = Mapping(pe, where, {"problem": "processes"})
    fujitsu = write("fujitsu", mapping)
    assert fujitsu.files[""].splitlines() == ["(0,1,0)", "(2,1,1)", "(0,0,0)", "(0,1,0)", "(0,0,0)"]
    # The file holds nodes; ranks of a node then take its slots in order.
    assert read("fujitsu", fujitsu.files[""], where=where).pe.tolist() == [4, 22, 0, 5, 1]
    with pytest.raises(FormatError, match="0 ranks, expected at least one"):
        read("fujitsu", "", where=where)


def test_five_dimensions_are_too_many():
    mapping = Mapping(np.array([63, 0], np.int32), allocate("torus:2x2x2x2x2@10 / core:2@1"))
    with pytest.raises(UnsupportedError, match=mentions("1", "2", "3", "5")):
        write("fujitsu", mapping)


def test_machines_without_coordinates_are_refused():
    with pytest.raises(UnsupportedError, match="expected a torus or mesh"):
        write("fujitsu", IN_ORDER)
    with pytest.raises(UnsupportedError, match="one node at each router"):
        write("fujitsu", Mapping(np.array([0], np.int32), allocate("torus:2x2x2:nodes=2")))


def test_slots_of_whole_cores_are_written_as_cores_and_others_as_threads():
    whole = allocate("core:2 pu:2")
    assert lines_of(write("openmpi", Mapping(np.array([1, 0], np.int32), whole))) == [
        "rank 0=localhost slot=1",
        "rank 1=localhost slot=0",
    ]
    threads = allocate("core:2 pu:2", per="pu")
    written = write("openmpi", Mapping(np.array([3, 0], np.int32), threads))
    assert lines_of(written) == ["rank 0=localhost slot=3", "rank 1=localhost slot=0"]
    assert ":hwtcpus" in written.launch
