"""Limits are met exactly: what is as large as allowed is read or written, and one more is refused."""

import importlib

import numpy as np
import pytest

import hopbytes as hb
from helpers.fabric_text import two_level_fabric
from hopbytes.errors import HopbytesError
from hopbytes.formats.task_places import read_forbidden
from hopbytes.machines.allocate.slot_counts import spread
from hopbytes.machines.spec import from_hierarchy, parse_machine
from hopbytes.model.allocation import SlotUse
from hopbytes.text.cpu_lists import parse_cpuset, parse_list

PU = '<topology version="2.0"><object type="Machine"><object type="PU" os_index="{}"/></object></topology>'
HOSTS = "node,x\na,0\nb,1\n"
NCCL = (
    "n1:5:9 [0] NCCL INFO comm 0xa0 rank 0 nranks 2 cudaDev 0 busId 1 - Init COMPLETE\n"
    "n1:6:9 [1] NCCL INFO comm 0xa1 rank 1 nranks 2 cudaDev 1 busId 2 - Init COMPLETE\n"
    "n1:5:5 [0] NCCL INFO AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x8f count 2 datatype 7 op 0 root 0 "
    "comm 0xa0 [nranks=2] stream 0x5\n"
)
STAR = "host a b c\nswitch s\nlink a s\nlink b s\nlink c s\n"
SLURM = "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=m\nSwitchName=top Switches=a,b\n"
FOAM = "FoamFile { class labelList; format ascii; }\n3 ( 0 1 0 )\n"


def machine(text="", spec="{}"):
    """Return what makes a machine from a spec in which the name of a file with this text may stand."""
    def make(path):
        path.write_text(text)
        return parse_machine(spec.format(path))

    return make


def spec(text):
    return machine(spec=text)


def pattern(text, format):
    def make(path):
        path.write_text(text)
        return hb.read(path, format)

    return make


def mapping(text, format, n=None, on="node:2 core:2"):
    def make(path):
        path.write_text(text)
        return hb.read_mapping(path, hb.allocate(on, hosts="a,b"), format, n=n)

    return make


def placed(format, spec="node:2 core:2", **options):
    def make(path):
        where = hb.allocate(spec, hosts="a,b")
        hb.write(hb.Mapping(range(where.k), where), path, format, force=True, **options)

    return make


def written(graph, format):
    return lambda path: hb.write(graph, path, format, force=True)


def forbidden(path):
    path.write_text("0-1 0\n1 1,0\n")
    read_forbidden(path, 2, 2)


def lowered(text):
    def make(_):
        distance = parse_machine(text).distance()
        distance.select(np.arange(len(distance.labels) - 1)).lowered()  # all but one: nothing is known yet

    return make


def hosts_of_a_table(path):
    path.write_text(HOSTS)
    hb.allocate("torus:4", hosts=str(path))


def fabric(options):
    return lambda path: hb.allocate(f"ib:{two_level_fabric(hosts=2).write(path.with_suffix('.d'))}:{options}")


def generated(text):
    return lambda _: hb.read(text)


def partitioned(_):
    graph = hb.CommGraph.from_edges([0, 1], [1, 2], loads=np.array([4, 4, 1]))
    hb.map_tasks(graph, "core:2", partition=True)


def host_file(text):
    def make(path):
        path.write_text(text)
        hb.allocate("node:3 core:1", hosts=str(path))

    return make


def changed(volume=1, load=1, migration_price=0):
    def make(_):
        graph = hb.CommGraph.from_edges([0, 1], [1, 2], n=4)
        options = {"migration_price": migration_price, "imbalance": "300%"}
        remapper = hb.Remapper(graph, "core:2@2", [0, 0, 1, 1], **options)
        remapper.apply(edges=[(0, 3, volume - 2)] if volume > 2 else [(0, 3, 1)], loads={0: load})

    return make


#: Module and constant, its least value with which an action succeeds, and the action.
LIMITS = [
    ("hopbytes.formats.task_places.MOST_PAIRS", 4, forbidden),
    ("hopbytes.formats.parsing.MAX_TASKS", 3, pattern(FOAM, "openfoam")),
    ("hopbytes.formats.patterns.metis.MAX_TASKS", 3, pattern("3 2\n2\n1 3\n2\n", "metis")),
    ("hopbytes.formats.patterns.metis.MAX_TASKS", 2, pattern("2 1 10 2\n1 1 2\n1 1 1\n", "metis")),
    ("hopbytes.formats.patterns.metis.MAX_TASKS", 2, pattern("0\n2 2\n0 000\n1 1\n1 0\n", "scotch")),
    ("hopbytes.formats.patterns.tables.MAX_TASKS", 2,
     pattern("%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2\n", "mm")),
    ("hopbytes.formats.patterns.tables.LARGEST_MATRIX", 2, written(hb.CommGraph.from_edges([0], [1]), "csv")),
    ("hopbytes.formats.patterns.tables.LARGEST_MATRIX", 2,
     written(hb.CommGraph.from_edges([0], [1]), "dense")),
    ("hopbytes.formats.patterns.programs.MOST_PROGRAMS", 2,
     pattern("program stencil:2 ./a\nprogram stencil:2 ./b\n", "programs")),
    ("hopbytes.formats.patterns.programs.MOST_RANKS", 6, pattern("program stencil:2x3 ./a\n", "programs")),
    ("hopbytes.formats.patterns.nccl.MAX_SUM", 8, pattern(NCCL, "nccl")),
    ("hopbytes.formats.mappings.numbering.MAX_CPU", 8, placed("slurm", allowed="0-1,7")),
    ("hopbytes.formats.mappings.openmpi.MAX_RANKS", 2,
     mapping("rank 0=a slot=0\nrank 1=b slot=1\n", "openmpi")),
    ("hopbytes.formats.mappings.host_lists.MAX_RANKS", 3, mapping("a:2\nb\n", "hydra")),
    ("hopbytes.machines.kinds.table.MAX_PLACES", 2, machine("0 1\n1 0\n", "table:{}")),
    ("hopbytes.machines.kinds.table.MAX_DISTANCE", 7, machine("0 7\n1 0\n", "table:{}")),
    ("hopbytes.machines.kinds.links.MAX_CABLES", 3, machine("link a b 1 x3\n", "links:{}")),
    ("hopbytes.machines.kinds.links.MAX_CAPACITY", 5, machine("link a b 5\n", "links:{}")),
    ("hopbytes.machines.kinds.links.MAX_TABLE", 3, machine(STAR, "links:{}")),
    ("hopbytes.machines.kinds.links.MAX_TABLE", 12,
     machine(STAR, "links:{}:route=spread")),
    ("hopbytes.machines.kinds.coordinates.MAX_NODES", 2, machine("a 0 1\nb 1 1\na 0 1\n", "coordinates:{}")),
    ("hopbytes.machines.kinds.scotch.MAX_PLACES", 2, machine("deco 0\n2 3\n1 1 1\n0 1 2\n3\n", "scotch:{}")),
    ("hopbytes.machines.kinds.scotch.MAX_TERMINALS", 8, machine("hcub 3\n", "scotch:{}")),
    ("hopbytes.machines.kinds.synthetic.MAX_PUS", 8, spec("synthetic:core:4 pu:2")),
    ("hopbytes.machines.kinds.hwloc.MAX_PUS", 4, machine(PU.format(3), "hwloc:{}")),
    ("hopbytes.machines.node.node_tree.MAX_PUS", 4, spec("synthetic:core:4")),
    ("hopbytes.machines.kinds.torus.MAX_CORES", 8, spec("torus:4:nodes=2")),
    ("hopbytes.machines.spec_fields.MAX_CORES", 8, spec("mesh:4x2")),
    ("hopbytes.machines.kinds.hyperx.MAX_CORES", 8, spec("hyperx:4:nodes=2")),
    ("hopbytes.machines.kinds.hyperx.MAX_LINKS", 2 * 6 + 3 * 2, spec("hyperx:3:nodes=2")),
    ("hopbytes.machines.kinds.dragonfly.MAX_CORES", 12, spec("dragonfly:3x2x2")),
    ("hopbytes.machines.kinds.dragonfly.MAX_LINKS", 6 * (2 * 2 + 1 + 1), spec("dragonfly:3x2x2")),
    ("hopbytes.machines.kinds.dragonfly.MAX_TABLE", (10 + 8) * 8 + 2 * 3 * (4 + 1),
     spec("dragonfly+:2x2x2:spines=3")),
    ("hopbytes.machines.kinds.fattree.MAX_CORES", 9, spec("fattree:3x3:nodes=4")),
    ("hopbytes.machines.kinds.fattree.MAX_CABLES", 9 + 3 * 2 * 2, spec("fattree:3x3:up=1x2:cables=1x2")),
    ("hopbytes.machines.kinds.rails.MAX_TABLE", (6 + 2 + 4 + 1) * 6,
     spec("rails:3x2:domain=2:pod=2:spines=1")),
    ("hopbytes.machines.network_machine.MAX_PER_HOP", 5, spec("torus:3@5")),
    ("hopbytes.machines.kinds.ib.MAX_TABLE", (4 + 4) * 4, fabric("routes=spread")),
    ("hopbytes.machines.distances.MAX_NODES_IN_TABLE", 5, lowered("dragonfly:3x2x1")),
    ("hopbytes.machines.distances.MAX_NODES_IN_TABLE", 3, lowered("rails:2x2")),
    ("hopbytes.machines.tree.MAX_CORES", 8, spec("node:2 core:4")),
    ("hopbytes.machines.tree.MAX_CORES", 8, spec("node:2 core:[3,5]")),
    ("hopbytes.machines.tree.MAX_LEVELS", 3, spec("a:1 b:1 c:1")),
    ("hopbytes.machines.spec.MAX_LEVELS", 3, spec("a:1 b:1 c:1")),
    ("hopbytes.machines.spec.MAX_LEVELS", 2, lambda _: from_hierarchy("4:2")),
    ("hopbytes.machines.tree.MAX_DISTANCE", 7, spec("core:2@7")),
    ("hopbytes.machines.tree.MAX_CAPACITY", 5, spec("core:2:cap=5")),
    ("hopbytes.machines.tree.MAX_CAPACITY", 4, spec("a:2:over=4")),
    ("hopbytes.machines.spec.MAX_CAPACITY", 4, spec("a:2:over=4")),
    ("hopbytes.machines.allocate.units.MAX_CAPACITY", 6,
     lambda _: hb.allocate("node:2:cap=3 core:2", capacity="core=0:2")),
    ("hopbytes.machines.allocate.units.MAX_CAPACITY", 4,
     lambda _: hb.allocate("node:2 core:2", capacity="node=0:4")),
    ("hopbytes.machines.allocate.hosts.MAX_HOSTS", 2, hosts_of_a_table),
    ("hopbytes.patterns.base.MAX_TASKS", 8, generated("stencil:4x2")),
    ("hopbytes.patterns.base.MAX_VOLUME", 9, generated("stencil:4:bytes=9")),
    ("hopbytes.patterns.base.MAX_ARCS", 16, generated("hierarchical:2x2")),
    ("hopbytes.patterns.ml.MAX_TASKS", 8, generated("ml:tp=2,pp=2,dp=2")),
    ("hopbytes.patterns.exchanges.MAX_TASKS", 8, generated("alltoall:tasks=8")),
    ("hopbytes.patterns.exchanges.MAX_TASKS", 8, generated("butterfly:tasks=8")),
    ("hopbytes.patterns.exchanges.MAX_VOLUME", 1000, generated("hierarchical:2x2:bytes=10,spread=0")),
    ("hopbytes.model.comm_graph.MAX_TASKS", 3, lambda _: hb.CommGraph.from_edges([0], [1], n=3)),
    ("hopbytes.model.comm_graph.MAX_TASKS", 2,
     lambda _: hb.CommGraph(np.array([0, 1, 2]), np.array([1, 0], np.int32))),
    ("hopbytes.util.integers.MAX_TASKS", 5, lambda _: hb.CommGraph.from_edges([0], [5])),
    ("hopbytes.util.integers.MAX_SUM", 9, lambda _: hb.CommGraph.from_edges([0], [1], [9])),
    ("hopbytes.util.integers.MAX_SUM", 9, lambda _: hb.CommGraph.from_edges([0, 1], [1, 0], [4, 5])),
    ("hopbytes.model.capacities.MAX_TOTAL_LOAD", 9, partitioned),
    ("hopbytes.text.documents.MAX_ELEMENTS", 3, machine(PU.format(3), "hwloc:{}")),
    ("hopbytes.text.documents.DEEPEST_XML", 3, machine(PU.format(3), "hwloc:{}")),
    ("hopbytes.text.hostlist.MAX_HOSTS", 6, lambda _: hb.allocate("node:6 core:1", hosts="a,b[1-2],c[1-3]")),
    ("hopbytes.text.hostlist.MAX_HOSTS", 3, lambda _: hb.allocate("node:3 core:1", hosts="a[1,7-8]")),
    ("hopbytes.text.hostlist.MAX_HOSTS", 3, host_file("a\nb\nc\n")),
    ("hopbytes.text.hostlist.MAX_LINE", 7, host_file("a #45\nb\nc\n")),
    ("hopbytes.text.cpu_lists.MAX_PUS", 8, lambda _: parse_list("0-3,7", "")),
    ("hopbytes.text.cpu_lists.MAX_PUS", 64, lambda _: parse_cpuset("0x1,0x2", "")),
    ("hopbytes.machines.kinds.synthetic.MAX_PUS", 5, spec("synthetic:core:2 pu:1(indexes=1,4)")),
    ("hopbytes.machines.network.MAX_LINKS", 6, machine(STAR, "links:{}")),
    ("hopbytes.formats.patterns.metis.MAX_TASKS", 4, pattern("0\n4 2\n0 000\n1 1\n1 0\n0\n0\n", "scotch")),
    ("hopbytes.formats.patterns.recorded.MAX_SUM", 9, pattern("0 init\n1 init\n0 send 1 9\n", "simgrid")),
    ("hopbytes.formats.exchange.MAX_SUM", 36, lambda path: hb.write(
        hb.CommGraph.from_edges([0], [1], [18]), path, "metis", force=True, symmetrize=True)),
    ("hopbytes.fabrics.ibnetdiscover.MAX_ENDS", 16, lambda path: hb.allocate(
        f"ib:{two_level_fabric(hosts=2).write(path.with_suffix('.d'))}")),
    ("hopbytes.fabrics.switch_tree.MAX_SWITCHES", 3, machine(SLURM, "slurm:{}")),
    ("hopbytes.fabrics.switch_tree.MAX_HEIGHT", 1, machine(SLURM, "slurm:{}")),
    ("hopbytes.fabrics.slurm.LONGEST_LINE", 30,
     machine("SwitchName=a \\\n Nodes=n[1-2]    \\\n\n", "slurm:{}")),
    ("hopbytes.solve.map_phases.MOST_COST", 63, lambda _: hb.map_phases(
        [hb.CommGraph.from_edges([0], [1], [9])], "core:2@7", goal="max")),
    ("hopbytes.solve.problem.MOST_PRICE", 6, lambda _: hb.map_tasks(
        hb.CommGraph.from_edges([0], [1]), "core:2",
        constraints=hb.Constraints(initial=[0, 1], migration_price=3))),
    ("hopbytes.solve.map_arrays.MOST", 14, lambda _: hb.map_arrays([0, 1, 2], [1, 0], "core:2@7")),
    ("hopbytes.solve.map_arrays.MAX_TOTAL_LOAD", 9,
     lambda _: hb.map_arrays([0, 1, 2], [1, 0], "core:2", loads=[4, 5])),
    ("hopbytes.solve.map_arrays.MAX_TASKS", 2, lambda _: hb.map_arrays([0, 1, 2], [1, 0], "core:2")),
    ("hopbytes.solve.remapper.MOST_COST", 18, changed(volume=9)),
    ("hopbytes.solve.remapper.MOST_COST", 28, changed(migration_price=7)),
    ("hopbytes.solve.remapper.MOST_LOAD", 10, changed(load=6)),
]


@pytest.mark.parametrize(("constant", "least", "act"), LIMITS, ids=[f"{row[0]}={row[1]}" for row in LIMITS])
def test_limits_are_met_exactly(tmp_path, monkeypatch, constant, least, act):
    module, _, name = constant.rpartition(".")
    place = importlib.import_module(module)
    act(tmp_path / "file")  # before the limit is changed, so that the action is right
    monkeypatch.setattr(place, name, least)
    act(tmp_path / "file")
    monkeypatch.setattr(place, name, least - 1)
    with pytest.raises(HopbytesError) as caught:
        act(tmp_path / "file")
    assert "\n" not in str(caught.value)


#: What reads a number, the number, and the most digits that it may have, zeros before it included.
DIGITS = [
    (lambda text: spec(f"torus:{text}"), 4, 9), (lambda text: spec(f"torus:4:nodes={text}"), 2, 19),
    (lambda text: spec(f"torus:4@{text}"), 3, 19), (lambda text: spec(f"core:{text}"), 3, 19),
    (lambda text: spec(f"core:2@{text}"), 3, 19), (lambda text: lambda _: from_hierarchy(f"{text}:2"), 4, 19),
    (lambda text: machine("SwitchName=a Nodes=n[1-2]\n", f"slurm:{{}}:node={text}"), 50, 19),
    (lambda text: machine(f"cmplt {text}\n", "scotch:{}"), 4, 19),
    (lambda text: machine(f"0 {text}\n1 0\n", "table:{}"), 2**62, 19),
    (lambda text: machine(f"a {text} 1\n", "coordinates:{}"), 3, 9),
    (lambda text: machine(f"link a b {text}\n", "links:{}"), 2**62, 19),
    (lambda text: machine(f"link a b 1 x{text}\n", "links:{}"), 3, 19),
    (lambda text: machine("node,x\na,1\n", f"torus:4:bw={text}"), 3, 19),
    (lambda text: lambda _: spread(hb.allocate("core:2"), 1, SlotUse(tasks_per=f"core={text}")), 1, 9),
    (lambda text: lambda _: hb.allocate("node:2 core:2", exclude=f"node={text}"), 1, 9),
    (lambda text: lambda _: hb.allocate("torus:4", hosts=f"nodes:{text}"), 1, 9),
    (lambda text: pattern(f"{text}\n0 1\n", "edges"), 4, 18),
    (lambda text: pattern(
        f"%%MatrixMarket matrix coordinate real general\n2 2 {text}\n1 2 1\n", "mm"), 1, 18),
    (lambda text: pattern(f"{text} 1\n2\n1\n", "metis"), 2, 19),
    (lambda text: pattern(f"0\n2 {text}\n0 000\n1 1\n1 0\n", "scotch"), 2, 18),
    (lambda text: pattern(f"0\n2 2\n0 000\n1 {text}\n1 0\n", "scotch"), 1, 18),
    (lambda text: pattern(f"0 init\n1 init\n0 send 1 {text}\n", "simgrid"), 5, 40),
    (lambda text: mapping(f"{text}\n", "plain"), 1, 18),
    (lambda text: mapping(f"rank {text}=a slot=0\n", "openmpi"), 0, 9),
    (lambda text: mapping(f"a:{text}\n", "hydra"), 2, 9),
    (lambda text: placed("slurm", allowed=f"0-{text}"), 3, 7),
]  # fmt: skip


@pytest.mark.parametrize(("act", "value", "most"), DIGITS)
def test_digits_of_numbers(tmp_path, act, value, most):
    act(f"{value:0{most}}")(tmp_path / "file")
    with pytest.raises(HopbytesError) as caught:
        act(f"{value:0{most + 1}}")(tmp_path / "file")
    assert "\n" not in str(caught.value)
