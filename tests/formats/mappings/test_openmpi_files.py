"""Rankfiles and hostfiles of Open MPI: they say what the mapping says."""

from __future__ import annotations

import re

import numpy as np
import pytest

import hopbytes as hb
from helpers.paths import SHARED
from helpers.placements import cores_in_node, place, read, read_rankfile, write
from hopbytes.errors import FormatError
from hopbytes.machines.kinds.synthetic import read_synthetic
from hopbytes.machines.node.node_tree import NodeInventory
from hopbytes.machines.node_machine import NodeMachine
from hopbytes.model.mapping import Mapping


def test_ranks_of_several_cores_get_as_many_threads():
    written = write("openmpi", place("core:4", [1, 0], cores_per_slot=2))
    assert written.launch.endswith(" -x OMP_NUM_THREADS=2 -x OMP_PLACES=cores ./app")
    uneven = hb.allocate("l3:2 core:[1,2]", per="l3")
    written = write("openmpi", Mapping(np.array([1, 0], np.int32), uneven))
    assert written.launch.endswith("rankfile:file={stem} sh {stem}.place.sh ./app")
    assert "0) cores=1-2 threads=2 ;;" in written.files[".place.sh"]


def test_two_ranks_on_a_core_need_leave_to_overload():
    twice = place("node:2@10 core:2@1", [0, 0, 1, 2], problem="processes", hosts=("a", "b"))
    written = write("openmpi", twice)
    assert "--bind-to :overload-allowed" in written.launch
    assert read_rankfile(written)[1] == {"a": 3, "b": 2}
    assert "--overcommit" in write("slurm", twice).launch
    assert "overload" not in write("openmpi", place("core:2", [0, 1])).launch


def test_hardware_threads_are_said_to_be_such():
    written = write("openmpi", place("core:2@2 pu:2@1", [0, 3, 1, 2]))
    assert "rankfile:file={stem}:hwtcpus" in written.launch
    assert "more ranks than cores" in written.notices[1]
    assert len(write("openmpi", place("core:2@2 pu:2@1", [0, 3])).notices) == 1


MACHINE = "node:3@10 package:2@3 core:6@1"


def packages_of(text, hosts=("aa", "bb", "cc"), spec=MACHINE):
    """Host and cores in its node of every rank of a rankfile."""
    mapping = read("openmpi", text, where=hb.allocate(spec, hosts=hosts))
    found = [cores_in_node(mapping, task) for task in range(mapping.n)]
    return [(hosts[node], cores) for node, cores in found]


def test_the_example_of_the_manual_has_ranks_of_different_sizes(tmp_path):
    """mpirun(1), Rankfiles: 3, 3 and 2 cores, of which slots of one core make nothing."""
    text = "rank 0=aa slot=1:0-2\nrank 1=bb slot=0:0,1,4\nrank 2=cc slot=1-2\n"
    assert packages_of(text) == [("aa", [6, 7, 8]), ("bb", [0, 1, 4]), ("cc", [1, 2])]
    (tmp_path / "doc.rf").write_text(text)
    where = hb.allocate(MACHINE, hosts=("aa", "bb", "cc"))
    mapping = hb.read(tmp_path / "doc.rf", holds="mapping", where=where)
    assert hb.evaluate(hb.CommGraph.from_edges([0, 1], [1, 2], [5, 7]), mapping).comm_cost == 120
    again = hb.write(mapping, tmp_path / "again", "openmpi")
    assert hb.read(again.paths[0], holds="mapping", where=mapping.where).pe.tolist() == mapping.pe.tolist()


@pytest.mark.parametrize(("slot", "cores"), [
    ("0:0;1:0", [0, 6]), ("0:0,1:0", [0, 6]), ("1:*", [6, 7, 8, 9, 10, 11]), ("S1", [6, 7, 8, 9, 10, 11]),
    ("s0:1-2", [1, 2]), ("0;3", [0, 3]), ("*", list(range(12))), ("P1:0", [6]), ("p3", [3]),
    ("2-3,5", [2, 3, 5]),
])  # fmt: skip
def test_slots_of_all_notations(slot, cores):
    assert packages_of(f"rank 0=u@aa slot={slot}\n") == [("aa", cores)]


def test_comments_are_those_of_the_scanner():
    text = "// note\n/* two\nlines */ rank 0=+n1 slots=0 # here\nrank 1=aa slot=1 // and there\n"
    assert packages_of(text) == [("bb", [0]), ("aa", [1])]
    with pytest.raises(FormatError, match=r"file:4: .*'rank x'"):
        packages_of("/* two\nlines */\nrank 0=aa slot=0\nrank x\n")


def test_ranks_may_share_all_of_their_cores_or_none():
    assert packages_of("rank 0=aa slot=0-1\nrank 1=aa slot=0-1\n") == [("aa", [0, 1])] * 2
    with pytest.raises(FormatError, match=r"file:2: slot 1-2 is partly that of another rank"):
        packages_of("rank 0=aa slot=0-1\nrank 1=aa slot=1-2\n")
    with pytest.raises(FormatError, match=r"file:1: core 99 of node 0"):
        packages_of("rank 0=aa slot=99\n")


def test_a_list_of_hosts_is_told_how_to_be_read(tmp_path):
    (tmp_path / "host.txt").write_text("s13n09\ns13n10\n")
    where = hb.allocate("node:2@10 core:2@1", hosts=("s13n09", "s13n10"))
    with pytest.raises(FormatError, match="format='pbs'"):
        hb.read_mapping(tmp_path / "host.txt", where)
    assert hb.read_mapping(tmp_path / "host.txt", where, "pbs").pe.tolist() == [0, 2]


# What Open MPI does with rankfiles on hosts with missing threads or unlike sets is said by the writer.


def written(tmp_path, allowed, hosts, version=None, per=None):
    """Write ranks on all slots of nodes of four cores with two threads each, of which a job has some."""
    trees = [read_synthetic("core:4 pu:2").restricted(pus) for pus in allowed]
    machine = NodeMachine("test", NodeInventory(tuple(trees), tuple(range(len(trees)))), hosts)
    where = hb.allocate(machine, per=per)
    mapping = hb.Mapping(np.arange(where.k, dtype=np.int32), where)
    options = {} if version is None else {"version": version}
    return " ".join(hb.write(mapping, tmp_path / "ranks", "openmpi", force=True, **options).notices)


ALL = range(8)
THREADS = "Open MPI 5 counts hardware threads instead of cores"
TREES = "Open MPI 4 binds on all hosts by the topology"


@pytest.mark.parametrize(("allowed", "said"), [
    ([ALL, ALL], ""), ([range(2, 8), range(2, 8)], ""),
    ([{0, 2, 3, 4, 5}] * 2, THREADS),  # the first core lacks its second thread
    ([{0, 1, 2, 4, 5}] * 2, ""),  # another one does, which is counted right
    ([{0, 2, 4, 6}] * 2, ""),  # no core has more than one
    ([ALL, range(2, 8)], TREES), ([{0, 2, 4, 6}, {1, 3, 5, 7}], TREES),
])  # fmt: skip
def test_what_is_said(tmp_path, allowed, said):
    notices = written(tmp_path, allowed, ("a", "b"))
    assert (THREADS in notices, TREES in notices) == (said == THREADS, said == TREES)


def test_hosts_and_versions(tmp_path):
    notices = written(tmp_path, [ALL, {0, 2, 3}, {1, 2, 3}], ("a", "b", "c"))
    assert re.search(r"more of others \(b, c\): request whole cores, or start with srun", notices)
    assert "(b, c from a): use Open MPI 5 or srun; 'hopbytes verify' shows where" in notices
    notices = written(tmp_path, [ALL, {0, 2, 3}], ("a", "b"), version="4")
    assert (THREADS in notices, TREES in notices) == (False, True)
    notices = written(tmp_path, [{0, 2, 3}], ("a",), per="pu")  # threads are counted anyway
    assert THREADS not in notices


# Rankfiles found in the wild.


FOLDER = SHARED / "samples" / "rankfiles"
needs_samples = pytest.mark.skipif(not FOLDER.is_dir(), reason="no folder of developers' samples")


@pytest.mark.shared
@needs_samples
def test_physical_slots_are_cpus():
    """Written for an Open MPI that took p for a CPU of the operating system."""
    mapping = hb.read(FOLDER / "M4_physical.rankfile", "openmpi", where=hb.allocate("package:2 core:8"))
    assert mapping.pe.tolist() == list(range(16))


@pytest.mark.shared
@needs_samples
def test_a_rank_with_a_whole_package():
    hosts = ("18.125.5.155", "18.125.5.156")
    where = hb.allocate("node:2 package:2 core:4", hosts=hosts, cores_per_task=4)
    mapping = hb.read(FOLDER / "isc16_graph500.rankfile", "openmpi", where=where)
    assert mapping.pe.tolist() == [0, 2]
    # On slots of single cores the mapping has slots of its own, as wide as the ranks.
    single = hb.allocate("node:2 package:2 core:4", hosts=hosts)
    mapping = hb.read(FOLDER / "isc16_graph500.rankfile", "openmpi", where=single)
    assert [mapping.where.cores_of(pe).tolist() for pe in mapping.pe] == [[0, 1, 2, 3], [8, 9, 10, 11]]
