"""Scotch's entry points: programs compiled with its headers, and its own programs as they are."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from test_metis_names import cut_of, lattice

from helpers.c_library import LIB, blocks_of

NAME = {32: "hopbytes_scotch", 64: "hopbytes_scotch_i64"}
HEADERS = {bits: Path(f"/usr/include/scotch-int{bits}") for bits in (32, 64)}
ORIGINAL = Path("/usr/lib/x86_64-linux-gnu/scotch-int64/libscotch.so")
pytestmark = pytest.mark.skipif(
    not (HEADERS[32] / "scotch.h").exists() or shutil.which("gcc") is None,
    reason="no headers of Scotch, or no gcc",
)

#: Reads n, base, k, what to call and its arguments; writes statuses, then blocks.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <scotch.h>
static SCOTCH_Num number(void) {
  long long v = 0;
  if (scanf("%lld", &v) != 1) exit(3);
  return (SCOTCH_Num)v;
}
static SCOTCH_Num* array(SCOTCH_Num n) {
  SCOTCH_Num *a = malloc((size_t)(n + 1) * sizeof *a), i;
  for (i = 0; i < n; ++i) a[i] = number();
  return a;
}
int main(int argc, char** argv) {
  const char* call = argc > 1 ? argv[1] : "";
  SCOTCH_Num n = number(), base = number(), k = number(), arcs = number(), gap = number(), v;
  SCOTCH_Num *rows = array(n + 1), *targets = array(arcs), *ends = NULL, *loads = NULL, *part, again, size;
  SCOTCH_Num levels[2] = {k / 4, 4}, links[2] = {9, 1}, *weights = NULL;
  SCOTCH_Graph graph;
  SCOTCH_Arch arch;
  SCOTCH_Strat strat;
  SCOTCH_Mapping mapping;
  if (number()) loads = array(n);
  if (number()) weights = array(arcs);
  if (gap) { /* rows with a hole behind each */
    SCOTCH_Num *apart = malloc((size_t)(2 * arcs + n + 1) * sizeof *apart),
               *first = malloc((size_t)(n + 1) * sizeof *first);
    ends = malloc((size_t)(n + 1) * sizeof *ends);
    for (v = 0; v < n; ++v) {
      SCOTCH_Num from = rows[v] - base, count = rows[v + 1] - rows[v];
      first[v] = rows[v] + v, ends[v] = first[v] + count;
      memcpy(apart + first[v] - base, targets + from, (size_t)count * sizeof *apart);
      apart[first[v] - base + count] = base;
    }
    rows = first, targets = apart;
  }
  part = malloc((size_t)(n + 1) * sizeof *part);
  for (v = 0; v <= n; ++v) part[v] = -1;
  printf("%d", SCOTCH_graphInit(&graph));
  printf(" %d", SCOTCH_graphBuild(&graph, base, n, rows, ends, loads, NULL, arcs, targets, weights));
  printf(" %d", strcmp(call, "nocheck") ? SCOTCH_graphCheck(&graph) : 0);
  SCOTCH_graphSize(&graph, &again, &size);
  printf(" %lld", (long long)again);
  printf(" %d %d", SCOTCH_archInit(&arch), SCOTCH_stratInit(&strat));
  if (!strcmp(call, "tight"))
    printf(" %d", SCOTCH_stratGraphMapBuild(&strat, SCOTCH_STRATDEFAULT, k, 0.002));
  if (!strcmp(call, "text"))
    printf(" %d",
           SCOTCH_stratGraphMap(
               &strat,
               "r{job=t,bal=0.2,map=t,poli=S,sep=m{vert=80,low=h{pass=10}f{bal=0.2},asc=f{bal=0.2}}}"));
  if (!strcmp(call, "tleaf")) {
    printf(" %d", SCOTCH_archTleaf(&arch, 2, levels, links));
    printf(" %lld %s", (long long)SCOTCH_archSize(&arch), SCOTCH_archName(&arch));
    printf(" %d", SCOTCH_graphMap(&graph, &arch, &strat, part));
  } else if (!strcmp(call, "cmpltw")) {
    SCOTCH_Num* shares = malloc((size_t)k * sizeof *shares);
    for (v = 0; v < k; ++v) shares[v] = v + 1;
    printf(" %d", SCOTCH_archCmpltw(&arch, k, shares));
    printf(" %d", SCOTCH_graphMapInit(&graph, &mapping, &arch, part));
    printf(" %d", SCOTCH_graphMapCompute(&graph, &mapping, &strat));
    SCOTCH_graphMapExit(&graph, &mapping);
  } else if (!strcmp(call, "fixed")) {
    printf(" %d", SCOTCH_graphPartFixed(&graph, k, &strat, part));
  } else if (!strcmp(call, "pinned") || !strcmp(call, "beyond")) {
    for (v = 0; v < n; v += 7) part[v] = v % k; /* and one vertex to no block */
    if (!strcmp(call, "beyond")) part[3] = k;
    printf(" %d", SCOTCH_archTleaf(&arch, 2, levels, links));
    printf(" %d", SCOTCH_graphMapInit(&graph, &mapping, &arch, part));
    printf(" %d", SCOTCH_graphMapFixedCompute(&graph, &mapping, &strat));
    SCOTCH_graphMapExit(&graph, &mapping);
  } else if (!strcmp(call, "mesh2")) {
    printf(" %d", SCOTCH_archCmplt(&arch, k));
    printf(" %d", SCOTCH_graphMapFixed(&graph, &arch, &strat, part));
  } else {
    printf(" %d", SCOTCH_graphPart(&graph, k, &strat, part));
  }
  for (v = 0; v < n; ++v) printf("%c%lld", v ? ' ' : '\n', (long long)part[v]);
  SCOTCH_stratExit(&strat), SCOTCH_archExit(&arch), SCOTCH_graphExit(&graph);
  printf("\n");
  return 0;
}
"""


def built(folder, bits, source=PROGRAM):
    """Compile a program with the headers of Scotch, and link it with our library."""
    program = folder / f"program{bits}"
    program.with_suffix(".c").write_text(source)
    line = ["gcc", "-w", f"-I{HEADERS[bits]}", program.with_suffix(".c"), f"-L{LIB}", f"-Wl,-rpath,{LIB}"]
    subprocess.run([*line, f"-l{NAME[bits]}", "-lm", "-o", program], check=True)
    return program


@pytest.fixture(scope="module", params=[32, 64])
def program(request, tmp_path_factory):
    return built(tmp_path_factory.mktemp("scotch"), request.param)


def run(program, rows, targets, k, call="", base=0, gap=0, loads=None, weights=None, **environment):
    n = len(rows) - 1
    words = [n, base, k, len(targets), gap, *(rows + base), *(targets + base)]
    for values in (loads, weights):
        words += [0] if values is None else [1, *values]
    done = subprocess.run(
        [program, call], input=" ".join(map(str, words)), capture_output=True, text=True, timeout=120,
        env=os.environ | environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    first, _, second = done.stdout.strip().partition("\n")
    return first.split(), np.array(second.split(), int)


@pytest.mark.parametrize("base", [0, 1, 5])
@pytest.mark.parametrize("gap", [0, 1])
def test_blocks_are_those_of_the_c_library(program, base, gap):
    rows, targets = lattice(30, 20)
    loads, weights = np.arange(600) % 3 + 1, np.full(len(targets), 2)
    statuses, part = run(
        program, rows, targets, 7, base=base, gap=gap, loads=loads, weights=None if gap else weights
    )
    assert statuses == ["0", "0", "0", "600", "0", "0", "0"]
    _, own, _ = blocks_of(
        rows, targets, None if gap else weights, loads, k=7, imbalance=float(np.float32(0.01))
    )
    assert part.tolist() == own.tolist()


@pytest.mark.parametrize(
    ("call", "allowance"), [("", 0.01), ("tight", 0.002), ("text", 0.2), ("fixed", 0.01)]
)
def test_the_bound_is_that_of_the_strategy(program, call, allowance):
    rows, targets = lattice(40, 30)
    statuses, part = run(program, rows, targets, 8, call)
    assert set(statuses) == {"0", "1200"}
    assert np.bincount(part, minlength=8).max() <= max(150, int(150 * (1 + allowance)))
    assert np.bincount(part, minlength=8).min() > 0


def test_a_tree_is_a_machine(program, tmp_path):
    rows, targets = lattice(40, 30)
    log = tmp_path / "log"
    statuses, part = run(program, rows, targets, 8, "tleaf", HOPBYTES_LOG=str(log))
    assert statuses[6:] == ["0", "8", "tleaf", "0"]
    # Scotch adds the links on the way down.
    _, own, result = blocks_of(rows, targets, machine="a:2@10 b:4@1", imbalance=float(np.float32(0.01)))
    assert part.tolist() == own.tolist()
    assert f" cost={result.cost} " in log.read_text()


@pytest.mark.parametrize("base", [0, 1, 5])
def test_fixed_vertices_stay(program, base):
    rows, targets = lattice(40, 30)
    fixed = np.where(np.arange(1200) % 7 == 0, np.arange(1200) % 8, -1)
    statuses, part = run(program, rows, targets, 8, "pinned", base=base)
    assert statuses[6:] == ["0", "0", "0"]
    _, own, _ = blocks_of(
        rows, targets, machine="a:2@10 b:4@1", imbalance=float(np.float32(0.01)), fixed=fixed
    )
    assert part.tolist() == own.tolist()
    assert np.array_equal(part[fixed >= 0], fixed[fixed >= 0])
    statuses, part = run(program, rows, targets, 8, "beyond", base=base)
    assert statuses[6:] == ["0", "0", "1"]
    assert part.max() == 8  # unchanged


def test_blocks_of_several_sizes(program):
    rows, targets = lattice(40, 30)
    statuses, part = run(program, rows, targets, 5, "cmpltw")
    assert statuses[6:] == ["0", "0", "0"]
    assert np.all(np.bincount(part) <= np.ceil(80 * np.arange(1, 6) * 1.01))


def test_the_machine_of_the_environment_and_the_log(program, tmp_path):
    rows, targets = lattice(30, 20)
    log = tmp_path / "log"
    _, part = run(
        program, rows, targets, 8, "nocheck", HOPBYTES_MACHINE="node:2 core:4", HOPBYTES_LOG=str(log),
        HOPBYTES_PRESET="fast",
    )  # fmt: skip
    _, own, result = blocks_of(
        rows, targets, machine="node:2 core:4", effort=1, imbalance=float(np.float32(0.01))
    )
    assert part.tolist() == own.tolist()
    assert log.read_text().startswith(
        f"SCOTCH_graphPart n=600 m=1150 k=8 on_machine cut={result.cut} cost={result.cost} "
    )


BAD = {
    "asymmetric": {"targets": [1, 0, 2, 0]}, "target too large": {"targets": [1, 0, 9, 1]},
    "negative load": {"loads": [1, -1, 1]}, "negative weight": {"weights": [1, 1, -1, -1]}, "k 0": {"k": 0},
}  # fmt: skip


@pytest.mark.parametrize("case", list(BAD))
def test_bad_graphs_are_refused(program, case):
    arguments = {"rows": np.array([0, 1, 3, 4]), "targets": np.array([1, 0, 2, 1]), "k": 2} | BAD[case]
    arguments["targets"] = np.array(arguments["targets"])
    statuses, part = run(program, **arguments)
    assert statuses[6] == "1"
    assert statuses[2] == ("0" if case == "k 0" else "1")
    assert part.tolist() == [-1, -1, -1]


def test_a_graph_without_vertices(program):
    statuses, part = run(program, np.array([0]), np.array([], int), 2)
    assert (statuses, part.tolist()) == (["0", "0", "0", "0", "0", "0", "0"], [])


def entry_points(bits):
    """The functions of Scotch's header that the library has: result, name, number of parameters."""
    names = subprocess.run(
        ["nm", "-D", "--defined-only", LIB / f"lib{NAME[bits]}.so"], capture_output=True, text=True
    )
    exported = {line.split()[2] for line in names.stdout.splitlines() if " SCOTCH_" in line}
    header = (HEADERS[bits] / "scotch.h").read_text()
    found = re.findall(r"^(\w[\w ]*?\**)\s+(SCOTCH_\w+)\s*\(([^;]*)\);", header, re.MULTILINE)
    found = [
        (result.strip(), name, 0 if parameters.strip() == "void" else len(parameters.split(",")))
        for result, name, parameters in found
        if name in exported
    ]
    assert {name for _, name, _ in found} == exported
    return found


@pytest.mark.parametrize("bits", [32, 64])
def test_null_pointers_never_crash(tmp_path, bits):
    functions = entry_points(bits)
    assert len(functions) > 35
    calls = []
    for result, name, count in functions:
        # zeros, and pointers to zeros in front of them
        for given in range(count):
            arguments = ", ".join(["(void *)zero"] * given + ["0"] * (count - given))
            text = f"{name}({arguments})"
            calls.append(f'printf("{name} {given} %d\\n", {text});' if result == "int" else f"(void){text};")
    # Arguments that are no pointers take the address as a number, which is no valid one.
    source = "\n".join([
        "#include <stdint.h>", "#include <stdio.h>", "#include <scotch.h>", "int main(void) {",
        "static double zero[64];", *calls, "return 0;", "}",
    ])  # fmt: skip
    done = subprocess.run([built(tmp_path, bits, source)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    for line in done.stdout.splitlines():
        name, given, status = line.split()
        if given == "0" and not name.endswith("Sizeof"):
            assert status != "0", line


@pytest.fixture
def scotch_graph(tmp_path):
    rows, targets = lattice(40, 30)
    lines = ["0", f"1200 {len(targets)}", "0 000"]
    for v in range(1200):
        near = targets[rows[v] : rows[v + 1]]
        lines.append(" ".join(map(str, [len(near), *near])))
    path = tmp_path / "lattice.grf"
    path.write_text("\n".join(lines) + "\n")
    return path, rows, targets


@pytest.mark.skipif(shutil.which("scotch_gpart") is None, reason="no scotch_gpart")
@pytest.mark.parametrize("tool", ["scotch_gpart", "scotch_gmap", "gord", "mesh"])
def test_programs_of_scotch_as_they_are(scotch_graph, tmp_path, tool):
    path, rows, targets = scotch_graph
    target = tmp_path / "target"
    target.write_text("mesh2D 2 4\n" if tool == "mesh" else "tleaf 2 2 9 4 1\n")
    out, log = tmp_path / "out", tmp_path / "log"
    line = {"scotch_gpart": ["scotch_gpart", "8", path, out], "gord": ["gord", path, out]}
    words = line.get(tool, ["scotch_gmap", path, target, out])
    environment = os.environ | {"LD_PRELOAD": str(LIB / "libhopbytes_scotch.so"), "HOPBYTES_LOG": str(log)}
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    if tool == "gord":  # orderings are Scotch's own
        assert not log.exists()
        return
    part = np.loadtxt(out, dtype=int, skiprows=1)[:, 1]
    assert np.bincount(part, minlength=8).max() <= 158
    text = log.read_text()
    assert text.startswith("SCOTCH_graphMapCompute n=1200 m=2330 k=")
    assert (" passed_on " in text) == (tool == "mesh")
    if tool != "mesh":
        assert f" cut={cut_of(rows, targets, part)} " in text


@pytest.mark.skipif(shutil.which("scotch_gpart-int64") is None, reason="no scotch_gpart-int64")
def test_another_width_is_left_to_scotch(scotch_graph, tmp_path):
    path, _, _ = scotch_graph
    log = tmp_path / "log"
    environment = os.environ | {
        "LD_PRELOAD": str(LIB / "libhopbytes_scotch_i64.so"),
        "HOPBYTES_LOG": str(log),
    }
    for where, passed_on in ((ORIGINAL.parent.parent, True), (ORIGINAL.parent, False)):
        subprocess.run(
            ["scotch_gpart-int64", "8", path, tmp_path / "out"], check=True, capture_output=True,
            env=environment | {"LD_LIBRARY_PATH": str(where)},
        )  # fmt: skip
        part = np.loadtxt(tmp_path / "out", dtype=int, skiprows=1)[:, 1]
        assert np.bincount(part, minlength=8).max() <= 158
        if not passed_on:
            assert " cut=" in log.read_text()
