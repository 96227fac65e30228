"""Programs that call METIS, Scotch or PT-Scotch, as they are and with the libraries of these names.

    python -m bench.studies.by_name --out bench/results/by_name.jsonl

A line per program and machine: what its call divided, edges between blocks that are apart at each level of
the machine, the largest block over its share and the processor time of the call, for the original and for
hopbytes. `by_name.c` is preloaded in front of either and writes what the program asked for and what it got.
The programs are those of Debian 12: freefem++ libfreefem++ libdeal.ii-dev python3-dolfinx python3-petsc4py
openfoam openfoam-examples metis scotch openmpi-bin; a program that is not there is left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from hopbytes.config import PREFIX

LIB = PREFIX / "lib"
PATIENCE = 900
#: A machine per row: nodes, sockets, domains of memory, cores.
MACHINES = {"6:2:4:2": 96, "5:2:3:4": 120, "4:2:4:2": 64}
FEW = "3:2:2:1"  # for programs that start a rank per block
LEVELS = ("node", "socket", "domain", "core")
MPI = ("mpirun.openmpi", "--oversubscribe", "-n")
OF_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
}  # fmt: skip
FREEFEM = """load "{plugin}"
mesh Th = square(160, 160);
fespace Ph(Th, P0);
Ph part;
{function}(part[], Th, {k});
"""
DEAL_II = """#include <deal.II/grid/grid_generator.h>
#include <deal.II/grid/grid_tools.h>
#include <deal.II/grid/tria.h>
int main(int, char **arguments) {
  dealii::Triangulation<3> mesh;
  dealii::GridGenerator::hyper_ball(mesh);
  mesh.refine_global(4);
  dealii::GridTools::partition_triangulation(std::atoi(arguments[1]), mesh);
}
"""
DOLFINX = """import sys
import numpy as np
from mpi4py import MPI
import dolfinx.cpp as cpp
import dolfinx.graph
from dolfinx.mesh import create_unit_cube
comm = MPI.COMM_WORLD
cells = create_unit_cube(MPI.COMM_SELF, 20, 20, 20).topology.connectivity(3, 0) if comm.rank == 0 else None
cells = comm.bcast(None if cells is None else cells.array.reshape(-1, 4))
own = np.array_split(cells, comm.size)[comm.rank].astype(np.int64)
dual = cpp.mesh.build_dual_graph(comm, cpp.graph.AdjacencyList_int64(own), 3)
dolfinx.graph.partitioner()(comm, int(sys.argv[1]), dual, False)
"""
PETSC = """import sys
import petsc4py
petsc4py.init(["p", "-mat_partitioning_type", "ptscotch", "-mat_partitioning_nparts", sys.argv[1]])
from petsc4py import PETSc
grid = PETSc.DMDA().create([60, 50, 20], stencil_type=PETSc.DMDA.StencilType.STAR, dof=1, stencil_width=1)
matrix = grid.createMatrix()
matrix.assemble()
division = PETSc.MatPartitioning().create(PETSc.COMM_WORLD)
division.setAdjacency(matrix.convert("mpiadj"))
division.setFromOptions()
division.apply(PETSc.IS())
"""
CASE = "/usr/share/doc/openfoam-examples/examples/incompressible/pimpleFoam/LES/channel395"
PTSCOTCH_OF_OPENFOAM = "/usr/lib/openmpi-system/libptscotchDecomp.so"
DIVISION = """FoamFile { version 2.0; format ascii; class dictionary; object decomposeParDict; }
numberOfSubdomains %d;
method ptscotch;
"""


def installed(name: str) -> bool:
    """Whether a program, a file or a folder is there."""
    return bool(shutil.which(name)) or Path(name).exists()


@dataclass(frozen=True)
class Program:
    """How to run a program: what it needs, and its command in a folder with its input."""

    name: str
    needs: tuple[str, ...]
    command: Callable[[Path, int], list[str]]
    machines: tuple[str, ...] = tuple(MACHINES)
    environment: tuple[tuple[str, str], ...] = ()
    allowance: float = 0.01  #: what its blocks may exceed their share by

    def is_there(self) -> bool:
        return all(map(installed, self.needs))


def freefem(plugin: str, function: str) -> Callable[[Path, int], list[str]]:
    def command(folder: Path, k: int) -> list[str]:
        (folder / "a.edp").write_text(FREEFEM.format(plugin=plugin, function=function, k=k))
        return ["FreeFem++", "-nw", "-v", "0", "a.edp"]

    return command


@cache
def compiled(source: str) -> str:
    """Return the program that deal.II's headers make of a source, kept until the end."""
    folder = tempfile.mkdtemp()
    Path(folder, "a.cc").write_text(source)
    found = [f"-I/usr/include/{each}" for each in ("trilinos", "suitesparse", "p4est")]
    found += [f"-I{path}/include" for path in Path("/usr/lib/petscdir").glob("petsc3*/*-real")]
    line = ["mpicxx.openmpi", "-O0", "-w", *found, "a.cc", "-o", "a", "-Wl,--copy-dt-needed-entries"]
    subprocess.run([*line, "-ldeal.ii", "-lmpi", "-ltbb"], cwd=folder, check=True)
    return f"{folder}/a"


def python(source: str, ranks: int) -> Callable[[Path, int], list[str]]:
    def command(folder: Path, k: int) -> list[str]:
        (folder / "a.py").write_text(source)
        return [*MPI, str(ranks), "/usr/bin/python3", "a.py", str(k)]

    return command


def openfoam(folder: Path, k: int) -> list[str]:
    shutil.copytree(CASE, folder, dirs_exist_ok=True)
    for packed in folder.rglob("*.gz"):
        packed.with_suffix("").write_bytes(gzip.decompress(packed.read_bytes()))
        packed.unlink()
    with (folder / "system/controlDict").open("a") as file:
        file.write(f'libs ("{PTSCOTCH_OF_OPENFOAM}");\n')
    (folder / "system/decomposeParDict").write_text(DIVISION % k)
    subprocess.run(["blockMesh"], cwd=folder, check=True, capture_output=True, env=os.environ | dict(FOAM))
    return [*MPI, str(k), "redistributePar", "-decompose", "-parallel"]


FOAM = (("WM_PROJECT_DIR", "/usr/share/openfoam"),)


def grid(*sides: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows and targets of a grid."""
    at = np.arange(math.prod(sides)).reshape(sides)
    ends = [
        np.stack([at.take(range(s - 1), i).ravel(), at.take(range(1, s), i).ravel()], 1)
        for i, s in enumerate(sides)
    ]
    arcs = np.concatenate(ends)
    arcs = np.concatenate([arcs, arcs[:, ::-1]])
    arcs = arcs[np.lexsort((arcs[:, 1], arcs[:, 0]))]
    return np.searchsorted(arcs[:, 0], np.arange(at.size + 1)), arcs[:, 1]


def on_grid(tool: str) -> Callable[[Path, int], list[str]]:
    def command(folder: Path, k: int) -> list[str]:
        rows, targets = grid(40, 40, 40)
        lists = [targets[rows[v] : rows[v + 1]] for v in range(len(rows) - 1)]
        if tool == "gpmetis":
            text = [f"{len(lists)} {len(targets) // 2}", *(" ".join(map(str, each + 1)) for each in lists)]
        else:
            text = ["0", f"{len(lists)} {len(targets)}", "0 000"]
            text += [f"{len(each)} {' '.join(map(str, each))}" for each in lists]
        (folder / "a.graph").write_text("\n".join(text) + "\n")
        return [tool, "a.graph", str(k)] if tool == "gpmetis" else [tool, str(k), "a.graph", "out"]

    return command


_PETSC = "/usr/lib/petscdir/petsc3.18/x86_64-linux-gnu-real/lib/python3/dist-packages"
PROGRAMS = (
    Program(
        "FreeFem++, metisdual", ("FreeFem++", "/usr/lib/freefem++/metis.so"), freefem("metis", "metisdual"),
        environment=(("FF_LOADPATH", "/usr/lib/freefem++"),),
        allowance=0.03,
    ),
    Program(
        "FreeFem++, scotch", ("FreeFem++", "/usr/lib/freefem++/scotch.so"), freefem("scotch", "scotch"),
        environment=(("FF_LOADPATH", "/usr/lib/freefem++"),),
        allowance=0.05,
    ),
    Program(
        "deal.II, METIS", ("/usr/include/deal.II/grid/tria.h", "mpicxx.openmpi"),
        lambda folder, k: [compiled(DEAL_II), str(k)],
        allowance=0.03,
    ),
    Program(
        "dolfinx, PT-Scotch", ("mpirun.openmpi", f"{_PETSC}/dolfinx"), python(DOLFINX, 2),
        environment=(("PYTHONPATH", _PETSC),),
    ),
    Program(
        "PETSc, PT-Scotch", ("mpirun.openmpi", f"{_PETSC}/petsc4py"), python(PETSC, 2),
        environment=(("PYTHONPATH", _PETSC),),
    ),
    Program(
        "OpenFOAM, PT-Scotch", ("redistributePar", CASE, PTSCOTCH_OF_OPENFOAM, "mpirun.openmpi"), openfoam,
        (FEW,), FOAM,
    ),
    Program("gpmetis", ("gpmetis",), on_grid("gpmetis"), allowance=0.03),
    Program("scotch_gpart", ("scotch_gpart",), on_grid("scotch_gpart")),
)  # fmt: skip


@cache
def built() -> tuple[str, str]:
    """Compile the library that watches and that of the names of MPI programs; return their paths."""
    folder = tempfile.mkdtemp()
    watch, mpi = f"{folder}/by_name.so", f"{folder}/libhopbytes_mpi.so"
    source = str(Path(__file__).with_suffix(".c"))
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", watch, "-ldl"], check=True)
    if shutil.which("mpicc.openmpi"):
        line = ["mpicc.openmpi", "-O2", "-shared", "-fPIC", f"{LIB}/hopbytes_mpi.c", f"-L{LIB}"]
        line += [f"-Wl,-rpath,{LIB}", "-lhopbytes_metis", "-lhopbytes_scotch", "-ldl", "-o", mpi]
        subprocess.run(line, check=True)
    return watch, mpi


@dataclass
class Call:
    """What a program asked for, and the blocks that it got."""

    function: str
    rows: np.ndarray
    targets: np.ndarray
    part: np.ndarray
    k: int
    seconds: float


def call_in(folder: Path, k: int) -> Call:
    """Join the files of the processes of the call that asked for k blocks of the largest graph."""
    found = []
    for path in folder.iterdir():
        line, _, rest = path.read_bytes().partition(b"\n")
        name, *numbers = line.decode().split()
        n, base, items, blocks, common = map(int, numbers[:5])
        if blocks != k:
            continue
        values = np.frombuffer(rest, np.int32)
        rows, part = values[: n + 1].astype(np.int64), values[len(values) - n :]
        targets = values[n + 1 : n + 1 + rows[-1]] - base
        found.append((items, common, Call(name, rows, targets, part, k, float(numbers[5]))))
    items = max(each[0] for each in found)
    shares = [call for each, _, call in found if each == items]
    if shares[0].function == "METIS_PartMeshDual":
        rows, targets = dual(shares[0].rows, shares[0].targets, items, found[0][1])
        return replace(shares[0], rows=rows, targets=targets)
    seconds = sum(share.seconds for share in shares)
    shares = [share for share in shares if len(share.part)]
    for order in (shares, shares[::-1]):  # in that of the ranks alone the graph is symmetric
        targets = np.concatenate([share.targets for share in order]).astype(np.int64)
        rows = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(share.rows) for share in order]))])
        sources = np.repeat(np.arange(items), np.diff(rows))
        if np.array_equal(np.sort(sources * items + targets), np.sort(targets * items + sources)):
            part = np.concatenate([share.part for share in order])
            return replace(shares[0], rows=rows, targets=targets, part=part, seconds=seconds)
    raise ValueError(f"{shares[0].function}: expected a symmetric graph, shared by one or two processes")


def dual(start: np.ndarray, item: np.ndarray, nodes: int, common: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the graph of the elements of a mesh that share nodes."""
    import scipy.sparse

    elements = len(start) - 1
    holds = scipy.sparse.csr_array((np.ones(len(item), np.int32), item, start), shape=(elements, nodes))
    near = (holds @ holds.T).tocoo()
    kept = (near.data >= common) & (near.row != near.col)
    order = np.lexsort((near.col[kept], near.row[kept]))
    return np.searchsorted(near.row[kept][order], np.arange(elements + 1)), near.col[kept][order]


def measured(call: Call, machine: str) -> dict[str, object]:
    """Return the edges between parts of the machine at every level, the imbalance and the processor time."""
    sources = np.repeat(np.arange(len(call.rows) - 1), np.diff(call.rows))
    part = call.part - call.part.min()
    if part.max() >= call.k or len(np.unique(part)) < min(call.k, len(part)):
        raise ValueError(f"{call.function}: blocks {part.min()} to {part.max()}, or empty ones, of {call.k}")
    a, b = part[sources], part[call.targets]
    counts = [int(each) for each in machine.split(":")]
    cut = {
        level: int((a // math.prod(counts[i + 1 :]) != b // math.prod(counts[i + 1 :])).sum()) // 2
        for i, level in enumerate(LEVELS)
    }
    largest = np.bincount(part, minlength=call.k).max() * call.k / len(part)
    return cut | {"largest": round(float(largest), 4), "seconds": round(call.seconds, 4)}


def run(
    program: Program, machine: str, with_hopbytes: bool, times: int = 3
) -> tuple[Call, dict[str, object]]:
    """Run a program; return its call, with the least time of some runs."""
    watch, mpi = built()
    names = [str(LIB / "libhopbytes_metis.so"), str(LIB / "libhopbytes_scotch.so")]
    k = math.prod(int(each) for each in machine.split(":"))
    best: Call | None = None
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            work, kept = Path(folder, "work"), Path(folder, "kept")
            work.mkdir(), kept.mkdir()
            line = program.command(work, k)
            preload = " ".join(
                [watch, *([mpi] if line[0] == MPI[0] else names)] if with_hopbytes else [watch]
            )
            words = [f"{level}:{count}" for level, count in zip(LEVELS, machine.split(":"), strict=True)]
            settings = {"LD_PRELOAD": preload, "BY_NAME_DIR": str(kept), "HOPBYTES_MACHINE": " ".join(words)}
            environment = os.environ | OF_MPI | dict(program.environment)
            if line[0] == MPI[0]:
                line[1:1] = [word for name, value in settings.items() for word in ("-x", f"{name}={value}")]
            else:
                environment |= settings
            done = subprocess.run(
                line, cwd=work, env=environment, capture_output=True, text=True, timeout=PATIENCE
            )
            if done.returncode:
                raise RuntimeError(f"{program.name}: {done.stdout[-500:]}{done.stderr[-1500:]}")
            call = call_in(kept, k)
        best = call if best is None or call.seconds < best.seconds else best
    assert best is not None
    return best, measured(best, machine)


def rows(names: list[str], times: int) -> Iterator[dict[str, object]]:
    for program in PROGRAMS:
        if (names and program.name not in names) or not program.is_there():
            continue
        for machine in program.machines:
            call, original = run(program, machine, False, times)
            _, ours = run(program, machine, True, times)
            yield {
                "program": program.name, "function": call.function, "n": len(call.part),
                "edges": len(call.targets) // 2, "k": call.k, "machine": machine, "original": original,
                "hopbytes": ours,
            }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--program", action="append", default=[], help=", ".join(p.name for p in PROGRAMS))
    parser.add_argument("--times", type=int, default=3, help="runs, of which the fastest call counts")
    chosen = parser.parse_args()
    file = chosen.out.open("a") if chosen.out else sys.stdout
    for row in rows(chosen.program, chosen.times):
        print(json.dumps(row), file=file, flush=True)


if __name__ == "__main__":
    main()
