"""METIS' entry points: gpmetis and mpmetis as they are, and answers beside those of the original library."""

import ctypes
import ctypes.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers.c_library import LIB, blocks_of
from helpers.graphs import grid

OURS = {32: LIB / "libhopbytes_metis.so", 64: LIB / "libhopbytes_metis_i64.so"}
ORIGINAL = ctypes.util.find_library("metis")
HEADER = Path("/usr/include/metis.h")
OBJECTIVE, CONNECTED, ALLOWANCE, NUMBERING, SEED = 1, 11, 16, 17, 8


def lattice(width, height):
    """The rows of a lattice, and its edges."""
    csr = grid(height, width).symmetric()
    return csr.indptr, csr.targets


class Metis:
    """A METIS whose indices have 32 or 64 bits."""

    def __init__(self, path, bits=32):
        self.library, self.index = ctypes.CDLL(str(path)), np.int32 if bits == 32 else np.int64
        self.number = ctypes.c_int32 if bits == 32 else ctypes.c_int64

    def array(self, values):
        return None if values is None else np.ascontiguousarray(values, self.index)

    def options(self, **given):
        options = np.full(40, -1, self.index)
        self.library.METIS_SetDefaultOptions(ctypes.c_void_p(options.ctypes.data))
        for at, value in given.items():
            options[int(at[1:])] = value
        return options

    def by_reference(self, value):
        return None if value is None else ctypes.byref(self.number(value))

    def part_graph(
        self,
        rows,
        targets,
        k,
        name="METIS_PartGraphKway",
        n=None,
        ncon=1,
        loads=None,
        weights=None,
        shares=None,
        allowances=None,
        options=None,
    ):
        kept = [self.array(each) for each in (rows, targets, loads, None, weights)]
        at = [None if each is None else ctypes.c_void_p(each.ctypes.data) for each in kept]
        reals = [None if each is None else np.array(each, np.float32) for each in (shares, allowances)]
        more = [None if each is None else ctypes.c_void_p(each.ctypes.data) for each in (*reals, options)]
        count = len(rows) - 1 if n is None else n
        part, cut = np.full(max(count, 1), -7, self.index), self.number(-7)
        status = getattr(self.library, name)(
            self.by_reference(count),
            self.by_reference(ncon),
            *at,
            self.by_reference(k),
            *more,
            ctypes.byref(cut),
            ctypes.c_void_p(part.ctypes.data),
        )
        return status, cut.value, part


def cut_of(rows, targets, part):
    return int((part[np.repeat(np.arange(len(rows) - 1), np.diff(rows))] != part[targets]).sum() // 2)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", ["METIS_PartGraphKway", "METIS_PartGraphRecursive", "metis_partgraphkway_"])
@pytest.mark.parametrize("base", [0, 1])
def test_blocks_keep_the_bound(bits, name, base):
    metis = Metis(OURS[bits], bits)
    rows, targets = lattice(30, 20)
    options = metis.options(**{f"_{NUMBERING}": base, f"_{SEED}": 5})
    status, cut, part = metis.part_graph(rows + base, targets + base, 7, name, options=options)
    assert status == 1
    assert (part.min(), part.max()) == (base, base + 6)
    allowance = 1.00105 if "Recursive" in name else 1.03005
    assert np.bincount(part - base).max() <= max(-(-600 // 7), int(600 / 7 * allowance))
    assert cut == cut_of(rows, targets, part)


def test_blocks_are_those_of_the_c_library():
    rows, targets = lattice(30, 20)
    loads, weights = np.arange(600) % 5 + 1, np.full(len(targets), 3)
    _, cut, part = Metis(OURS[32]).part_graph(rows, targets, 6, loads=loads, weights=weights)
    _, own, result = blocks_of(rows, targets, weights, loads, k=6, imbalance=0.03 + 0.0000499, effort=-1)
    assert part.tolist() == own.tolist()
    assert cut == result.cut


def test_shares_and_allowances():
    rows, targets = lattice(40, 25)
    status, _, part = Metis(OURS[32]).part_graph(
        rows, targets, 3, shares=[0.5, 0.3, 0.2], allowances=[1.01], options=None
    )
    assert status == 1
    assert np.all(np.bincount(part) <= np.array([500, 300, 200]) * 1.0101)


@pytest.mark.parametrize("allowances", [None, [32.0], [float("inf")]])
def test_any_allowance_of_metis_is_taken(allowances):
    rows, targets = lattice(12, 10)
    metis = Metis(OURS[32])
    options = metis.options(_16=30000)
    status, cut, part = metis.part_graph(rows, targets, 4, allowances=allowances, options=options)
    assert (status, cut) == (1, cut_of(rows, targets, part))


def test_a_cut_beyond_the_integers_of_the_call():
    most = 2**31 - 1
    weights = [most, most, 7, 7]
    status, cut, _ = Metis(OURS[32]).part_graph([0, 1, 3, 4], [1, 0, 2, 1], 3, weights=weights)
    assert (status, cut) == (1, most)
    status, cut, _ = Metis(OURS[64], 64).part_graph([0, 1, 3, 4], [1, 0, 2, 1], 3, weights=weights)
    assert (status, cut) == (1, most + 7)


def test_blocks_hang_together_where_asked():
    import scipy.sparse
    import scipy.sparse.csgraph

    metis = Metis(OURS[32])
    rows, targets = lattice(50, 40)
    options = metis.options(**{f"_{CONNECTED}": 1})
    status, cut, part = metis.part_graph(rows, targets, 13, options=options)
    assert status == 1
    assert cut == cut_of(rows, targets, part)
    sources = np.repeat(np.arange(2000), np.diff(rows))
    inside = part[sources] == part[targets]
    graph = scipy.sparse.coo_array(
        (np.ones(inside.sum()), (sources[inside], targets[inside])), shape=(2000, 2000)
    )
    assert scipy.sparse.csgraph.connected_components(graph)[0] == 13


def machine_and_log(monkeypatch, path, machine):
    monkeypatch.setenv("HOPBYTES_MACHINE", machine)
    monkeypatch.setenv("HOPBYTES_LOG", str(path))


def test_machine_and_log(tmp_path, monkeypatch):
    rows, targets = lattice(30, 20)
    # os.environ calls setenv, so a library in this process sees it.
    machine_and_log(monkeypatch, tmp_path / "log", "node:2 core:4")
    status, _, part = Metis(OURS[32]).part_graph(rows, targets, 8)
    _, own, result = blocks_of(rows, targets, machine="node:2 core:4", imbalance=0.03 + 0.0000499, effort=-1)
    assert (status, part.tolist()) == (1, own.tolist())
    Metis(OURS[32]).part_graph(rows, targets, 9)
    Metis(OURS[32]).part_graph(rows, targets, 0)
    fits, too_many, refused = (tmp_path / "log").read_text().splitlines()
    assert fits.startswith(
        f"METIS_PartGraphKway n=600 m=1150 k=8 on_machine cut={result.cut} cost={result.cost} "
    )
    assert " k=9 machine_does_not_fit cut=" in too_many
    assert refused.startswith("METIS_PartGraphKway n=-1 m=-1 k=0 refused seconds=")


PATH = {"rows": [0, 1, 3, 4], "targets": [1, 0, 2, 1], "k": 2}
BAD = {
    "no rows": {"rows": None, "n": 3}, "no targets": {"targets": None},
    "no k": {"k": None}, "k 0": {"k": 0}, "k negative": {"k": -3}, "n negative": {"n": -3},
    "ncon 0": {"ncon": 0}, "no ncon": {"ncon": None}, "negative weight": {"weights": [1, 1, -1, -1]},
    "negative load": {"loads": [1, -1, 1]}, "asymmetric": {"targets": [1, 0, 2, 0]},
    "target too large": {"targets": [1, 0, 9, 1]}, "rows descend": {"rows": [0, 3, 1, 4]},
    "shares": {"shares": [0.9, 0.9]}, "negative share": {"shares": [1.5, -0.5]},
    "allowance": {"allowances": [0.5]},
    "numbering": {"options": {NUMBERING: 7}}, "objective": {"options": {OBJECTIVE: 7}},
    "ufactor": {"options": {ALLOWANCE: -5}},
}  # fmt: skip
#: Runs in a process of its own, which METIS may end.
PROGRAM = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from test_metis_names import Metis
metis, arguments = Metis(sys.argv[2]), json.loads(sys.argv[3])
if "options" in arguments:
    arguments["options"] = metis.options(**{"_" + at: value for at, value in arguments["options"].items()})
print("status", metis.part_graph(**arguments)[0])
"""


def status_in_a_process(library, arguments, **environment):
    path = json.dumps([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, path, str(library), json.dumps(arguments)],
        capture_output=True, text=True, timeout=120, env=os.environ | environment,
    )  # fmt: skip
    words = done.stdout.split()
    return int(words[words.index("status") + 1]) if "status" in words else "crash"


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input_has_the_code_of_metis(case):
    arguments, metis = PATH | BAD[case], Metis(OURS[32])
    own = dict(arguments)
    if options := own.get("options"):
        own["options"] = metis.options(**{f"_{at}": value for at, value in options.items()})
    status, cut, part = metis.part_graph(**own)
    assert (status, cut, set(part.tolist())) == (-2, -7, {-7})


def test_null_pointers_never_crash():
    library = ctypes.CDLL(str(OURS[32]))
    names = {
        "METIS_PartGraphKway": 13, "METIS_PartGraphRecursive": 13, "METIS_PartMeshDual": 13,
        "METIS_PartMeshNodal": 12, "METIS_MeshToDual": 8, "METIS_MeshToNodal": 7,
        "METIS_SetDefaultOptions": 1,
    }  # fmt: skip
    for name, arguments in names.items():
        one = [ctypes.byref(ctypes.c_int32(1))]
        assert getattr(library, name)(*[None] * arguments) == -2, name
        for given in range(1, arguments - 2):  # ones at the front, null pointers behind
            assert getattr(library, name)(*one * given, *[None] * (arguments - given)) == -2, (name, given)
    assert library.METIS_Free(None) == 1
    for name, arguments in {"METIS_NodeND": 7, "METIS_ComputeVertexSeparator": 7}.items():
        assert getattr(library, name)(*[None] * arguments) == -4


@pytest.mark.skipif(ORIGINAL is None, reason="no METIS to compare with")
def test_several_constraints_are_passed_on(tmp_path):
    arguments, log = PATH | {"ncon": 2, "loads": [1, 1, 1, 1, 1, 1]}, tmp_path / "log"
    assert (
        status_in_a_process(OURS[32], arguments, HOPBYTES_LOG=str(log)) == -4
    )  # nothing is behind the library
    preload = f"{OURS[32]} {ORIGINAL}"
    assert status_in_a_process(OURS[32], arguments, LD_PRELOAD=preload, HOPBYTES_LOG=str(log)) == 1
    assert log.read_text().count(" passed_on ") == 2


def mesh(width, height):
    """Squares of a lattice of nodes: the nodes of every element."""
    corners = [(x + y * (width + 1)) for y in range(height) for x in range(width)]
    nodes = [[c, c + 1, c + width + 2, c + width + 1] for c in corners]
    starts = np.arange(0, 4 * width * height + 1, 4)
    return width * height, (width + 1) * (height + 1), starts, np.array(nodes).ravel()


def rows_of_mesh(path, name, common, base):
    """The rows of a graph that METIS makes of a mesh, as sets."""
    library, index = ctypes.CDLL(str(path)), ctypes.c_int32
    elements, nodes, start, item = mesh(5, 4)
    arrays = np.array(start + base, np.int32), np.array(item + base, np.int32)
    rows, targets = ctypes.POINTER(index)(), ctypes.POINTER(index)()
    shared = [] if common is None else [ctypes.byref(index(common))]
    status = getattr(library, name)(
        ctypes.byref(index(elements)), ctypes.byref(index(nodes)),
        *(ctypes.c_void_p(array.ctypes.data) for array in arrays), *shared, ctypes.byref(index(base)),
        ctypes.byref(rows), ctypes.byref(targets),
    )  # fmt: skip
    assert status == 1
    count = elements if name == "METIS_MeshToDual" else nodes
    found = [set(targets[rows[i] - base : rows[i + 1] - base]) for i in range(count)]
    assert library.METIS_Free(rows) == library.METIS_Free(targets) == 1
    return found


@pytest.mark.skipif(ORIGINAL is None, reason="no METIS to compare with")
@pytest.mark.parametrize(
    ("name", "common"), [("METIS_MeshToDual", 1), ("METIS_MeshToDual", 2), ("METIS_MeshToNodal", None)]
)
@pytest.mark.parametrize("base", [0, 1])
def test_graphs_of_meshes_are_those_of_metis(name, common, base):
    assert rows_of_mesh(OURS[32], name, common, base) == rows_of_mesh(ORIGINAL, name, common, base)


@pytest.mark.parametrize("kind", ["dual", "nodal"])
def test_meshes_are_divided(kind):
    library, index = ctypes.CDLL(str(OURS[32])), ctypes.c_int32
    elements, nodes, start, item = mesh(12, 10)
    arrays = np.array(start, np.int32), np.array(item, np.int32)
    element_block, node_block = np.full(elements, -7, np.int32), np.full(nodes, -7, np.int32)
    cut, common = index(-7), [ctypes.byref(index(2))] * (kind == "dual")
    name = "METIS_PartMeshDual" if kind == "dual" else "METIS_PartMeshNodal"
    at = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, element_block, node_block)]
    status = getattr(library, name)(
        ctypes.byref(index(elements)), ctypes.byref(index(nodes)), at[0], at[1], None, None, *common,
        ctypes.byref(index(5)), None, None, ctypes.byref(cut), at[2], at[3],
    )  # fmt: skip
    assert status == 1
    divided = element_block if kind == "dual" else node_block
    assert np.bincount(divided, minlength=5).max() <= max(len(divided) / 5 * 1.03005, -(-len(divided) // 5))
    for element, block in enumerate(element_block):
        around = node_block[item[4 * element : 4 * element + 4]]
        if kind == "nodal":
            assert block in around
    assert set(element_block) == set(range(5)) == set(node_block)
    assert cut.value > 0


#: Calls every function of METIS' own header, for a lattice and the squares between its vertices.
CALLS = r"""
#include <metis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { W = 12, H = 10, N = W * H, SQUARES = (W - 1) * (H - 1) };
static idx_t rows[N + 1], targets[4 * N], start[SQUARES + 1], item[4 * SQUARES], loads[N], part[N], other[N];
static idx_t options[METIS_NOPTIONS], one = 1, n = N, squares = SQUARES, k = 5, cut = -7;
static void say(const char* name, int status, const idx_t* values, int count) {
  printf("%s %d", name, status);
  for (int i = 0; i < count; ++i) printf(" %lld", (long long)values[i]);
  printf("\n");
}
int main(int argc, char** argv) {
  idx_t base = atoi(argv[1]), e = 0, *made = NULL, *near = NULL;
  real_t shares[5] = {0.1, 0.15, 0.2, 0.25, 0.3}, allowance = 1.05;
  const char* bad = argc > 2 ? argv[2] : "";
  rows[0] = start[0] = base;
  for (int v = 0; v < N; ++v) {
    int x = v % W, y = v / W, at[4] = {y ? v - W : -1, x ? v - 1 : -1, -1, y < H - 1 ? v + W : -1};
    if (x < W - 1) at[2] = v + 1;
    for (int i = 0; i < 4; ++i) if (at[i] >= 0) targets[e++] = at[i] + base;
    rows[v + 1] = e + base, loads[v] = 1, part[v] = other[v] = -7;
  }
  for (int s = 0; s < SQUARES; ++s) {
    int v = s / (W - 1) * W + s % (W - 1), corner[] = {v, v + 1, v + W + 1, v + W};
    for (int i = 0; i < 4; ++i) item[4 * s + i] = corner[i] + base;
    start[s + 1] = 4 * (s + 1) + base;
  }
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_NUMBERING] = strcmp(bad, "numbering") ? base : 7;
  if (!strcmp(bad, "k")) k = 0;
  if (!strcmp(bad, "load")) loads[3] = -1;
#define GRAPH &n, &one, rows, targets, loads, NULL, NULL, &k, shares, &allowance, options, &cut, part
  say("kway", METIS_PartGraphKway(GRAPH), part, N);
  say("recursive", METIS_PartGraphRecursive(GRAPH), part, N);
#define MESH &squares, &n, start, item, loads, NULL
  say("dual", METIS_PartMeshDual(MESH, &one, &k, shares, options, &cut, other, part), part, N);
  say("nodal", METIS_PartMeshNodal(MESH, &k, shares, options, &cut, other, part), part, N);
  say("order", METIS_NodeND(&n, rows, targets, NULL, options, part, other), &one, 0);
  if (*bad) return 0;
  int status = METIS_MeshToDual(&squares, &n, start, item, &one, &base, &made, &near);
  say("to dual", status, made, SQUARES + 1);
  say("free", METIS_Free(made) + METIS_Free(near) - 1, &one, 0);
  status = METIS_MeshToNodal(&squares, &n, start, item, &base, &made, &near);
  say("to nodal", status, made, N + 1);
  say("free", METIS_Free(made) + METIS_Free(near) - 1, &one, 0);
  return 0;
}
"""
WIDTHS = {(32, 32): "", (64, 32): "_i64", (64, 64): "_i64_r64"}


@pytest.mark.skipif(
    not HEADER.exists() or shutil.which("gcc") is None, reason="no header of METIS, or no gcc"
)
@pytest.mark.parametrize("widths", list(WIDTHS), ids=str)
def test_every_function_of_the_header(tmp_path, widths):
    header = re.sub(r"(#define IDXTYPEWIDTH) \d+", rf"\1 {widths[0]}", HEADER.read_text())
    (tmp_path / "metis.h").write_text(re.sub(r"(#define REALTYPEWIDTH) \d+", rf"\1 {widths[1]}", header))
    (tmp_path / "a.c").write_text(CALLS)
    line = ["gcc", "-w", f"-I{tmp_path}", tmp_path / "a.c", f"-L{LIB}", f"-Wl,-rpath,{LIB}"]
    subprocess.run([*line, f"-lhopbytes_metis{WIDTHS[widths]}", "-o", tmp_path / "a"], check=True)

    def calls(*words):
        said = subprocess.check_output([tmp_path / "a", *words], text=True, timeout=60)
        lines = [re.match(r"([a-z ]+) (-?\d+)(.*)", line).groups() for line in said.splitlines()]
        return {name: (int(status), [int(value) for value in rest.split()]) for name, status, rest in lines}

    rows, targets = lattice(12, 10)
    shares = np.array([0.1, 0.15, 0.2, 0.25, 0.3])
    own = Metis(OURS[32]).part_graph(rows, targets, 5, shares=shares, allowances=[1.05])[2]
    for base in (0, 1):
        found = calls(str(base))
        assert {name: status for name, (status, _) in found.items() if status != 1} == {"order": -4}
        assert found["kway"][1] == (own + base).tolist()
        for name in ("kway", "recursive", "nodal"):
            sizes = np.bincount(np.array(found[name][1]) - base, minlength=5)
            assert (sizes <= np.ceil(120 * shares * 1.05)).all(), name
        degrees = np.diff(found["to nodal"][1])
        assert (degrees.min(), degrees.max(), degrees.sum()) == (3, 8, 2 * (2 * 12 * 10 - 22 + 2 * 99))
        degrees = np.diff(found["to dual"][1])
        assert (degrees.min(), degrees.max()) == (3, 8)
        for bad in ("k", "load", "numbering"):
            statuses = {name: status for name, (status, _) in calls(str(base), bad).items()}
            assert statuses == dict.fromkeys(("kway", "recursive", "dual", "nodal"), -2) | {"order": -4}


@pytest.fixture
def metis_graph(tmp_path):
    rows, targets = lattice(40, 30)
    lines = [" ".join(str(each + 1) for each in targets[rows[v] : rows[v + 1]]) for v in range(1200)]
    path = tmp_path / "lattice.graph"
    path.write_text("\n".join([f"1200 {len(targets) // 2}", *lines]) + "\n")
    return path, rows, targets


@pytest.mark.skipif(shutil.which("gpmetis") is None, reason="no gpmetis")
@pytest.mark.parametrize(
    "options", [[], ["-ptype=rb"], ["-contig"], ["-ufactor=10", "-seed=4"], ["-objtype=vol"]]
)
def test_gpmetis_as_it_is(metis_graph, tmp_path, options):
    path, rows, targets = metis_graph
    environment = os.environ | {"LD_PRELOAD": str(OURS[32]), "HOPBYTES_LOG": str(tmp_path / "log")}
    done = subprocess.run(
        ["gpmetis", *options, path, "8"], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    part = np.loadtxt(f"{path}.part.8", dtype=int)
    assert (len(part), part.min(), part.max()) == (1200, 0, 7)
    most = {"-ptype=rb": 151, "-ufactor=10": 151}.get(next(iter(options), ""), 154)
    assert np.bincount(part).max() <= most
    log = (tmp_path / "log").read_text()
    assert (" passed_on " in log) == ("-objtype=vol" in options)
    if " passed_on " not in log:
        assert f" cut={cut_of(rows, targets, part)} " in log
        assert f"Edgecut: {cut_of(rows, targets, part)}," in done.stdout


@pytest.mark.skipif(shutil.which("mpmetis") is None, reason="no mpmetis")
def test_mpmetis_as_it_is(tmp_path):
    elements, _, _, item = mesh(20, 15)
    path = tmp_path / "squares.mesh"
    path.write_text(
        "\n".join([str(elements), *(" ".join(map(str, row + 1)) for row in item.reshape(-1, 4))]) + "\n"
    )
    environment = os.environ | {"LD_PRELOAD": str(OURS[32]), "HOPBYTES_LOG": str(tmp_path / "log")}
    done = subprocess.run(
        ["mpmetis", path, "6"], capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    part = np.loadtxt(f"{path}.epart.6", dtype=int)
    assert np.bincount(part, minlength=6).max() <= 51
    assert (tmp_path / "log").read_text().startswith("METIS_PartMesh")
