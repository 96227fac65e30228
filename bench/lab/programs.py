"""The programs that are measured, and how the launchers of Open MPI and MPICH start them on hosts."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench.lab.hosts import CONTROL, DATA, Hosts, compiled


@dataclass(frozen=True)
class Program:
    """A program: its words, where {bytes} and {steps} stand, and what it prints.

    Parameters
    ----------
    words : tuple of str
        The program and its arguments; those of programs.c begin with ``"programs"``.
    seconds : str
        A regular expression whose first group is the time that it prints.
    begins : str
        For a program that prints no time, what it prints when the time begins; it ends with `seconds` then.
    files : dict of str to str
        Files in the folder where it starts.
    example : str
        A folder that is copied there first.
    tools : tuple of str
        Commands that are called there after that.
    environment : dict of str to str
        Variables that it needs.
    """

    words: tuple[str, ...]
    seconds: str = r"^seconds ([0-9.]+)"
    begins: str = ""
    files: dict[str, str] | None = None
    example: str = ""
    tools: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def own(self) -> bool:
        """Whether it is one of programs.c, which also prints its hosts and leaves its start out."""
        return self.words[0] == "programs"

    def prepare(self, folder: Path) -> None:
        """Write its files."""
        if self.example:
            shutil.copytree(self.example, folder, dirs_exist_ok=True)
        for name, text in (self.files or {}).items():
            (folder / name).write_text(text)
        for tool in self.tools:
            environment = {**os.environ, **self.environment}
            subprocess.run(tool.split(), cwd=folder, env=environment, check=True, capture_output=True)


def _own(name: str, size: int, steps: int) -> Program:
    return Program(("programs", name, str(size), str(steps)))


MELT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 32 0 24 0 16
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 10 delay 0 check no
fix 1 all nve
thermo 10
run 50
"""
EXAMPLES = "/usr/share/doc/openfoam-examples/examples"
FOAM_HEAD = "FoamFile { version 2.0; format ascii; class dictionary; object settings; }\n"
CORNERS = " ".join(f"({x} {y} {z})" for z in (0, 5) for x, y in ((0, 0), (10, 0), (10, 10), (0, 10)))
CAVITY = {
    "system/controlDict": FOAM_HEAD
    + """application icoFoam; startFrom startTime; startTime 0; stopAt endTime; endTime 0.0008; deltaT 0.0002;
writeControl timeStep; writeInterval 1000; writeFormat ascii; timeFormat general; timePrecision 6;
""",
    "system/blockMeshDict": FOAM_HEAD
    + f"""scale 0.01; vertices ({CORNERS}); edges (); mergePatchPairs ();
blocks (hex (0 1 2 3 4 5 6 7) (64 64 32) simpleGrading (1 1 1));
boundary (movingWall {{ type wall; faces ((3 7 6 2)); }}
fixedWalls {{ type wall; faces ((0 4 7 3) (2 6 5 1) (1 5 4 0) (0 3 2 1) (4 5 6 7)); }});
""",
    "system/fvSolution": FOAM_HEAD
    + """solvers { "p.*" { solver PCG; preconditioner DIC; tolerance 1e-06; relTol 0; maxIter 50; }
U { solver smoothSolver; smoother symGaussSeidel; tolerance 1e-05; relTol 0; } }
PISO { nCorrectors 2; nNonOrthogonalCorrectors 0; pRefCell 0; pRefValue 0; }
""",
    "system/decomposeParDict": FOAM_HEAD
    + "numberOfSubdomains 32; method simple; simpleCoeffs { n (4 8 1); delta 0.001; }\n",
}
#: A small table and a small system of equations; matrices of 26 MB are transposed.
HPCC = """two lines
of a title
HPL.out
8 device
1
48 N
1
12 NB
0 order
1
4 P
8 Q
16.0 threshold
1
2 PFACT
1
4 NBMIN
1
2 NDIV
1
1 RFACT
1
1 BCAST
1
1 DEPTH
2 SWAP
64 threshold of SWAP
0 L1
0 U
1 equilibration
8 alignment
PTRANS
1 size
1800
1 block
40
"""
#: Name → program; sizes and steps are such that a run takes two seconds or more on links of 20 Mbit/s.
PROGRAMS = {
    "halo2": _own("halo2", 32768, 64), "halo2s": _own("halo2s", 32768, 52),
    "halo3": _own("halo3", 32768, 36), "halo3s": _own("halo3s", 32768, 32),
    "cg": _own("cg", 16384, 60), "cgs": _own("cgs", 16384, 56),
    "transpose": _own("transpose", 16384, 14),
    "sweep": _own("sweep", 8192, 8), "sweeps": _own("sweeps", 8192, 6),
    "groups": _own("groups", 8192, 36), "irregular": _own("irregular", 16384, 24),
    "lammps": Program(
        ("lmp", "-in", "in.melt", "-log", "none"), r"^Loop time of ([0-9.]+)", files={"in.melt": MELT}
    ),
    # Its last part sends gigabytes from every host and is left out; sleep_while_waiting.c says how.
    "hpcc": Program(
        ("hpcc",), "^Begin of LatencyBandwidth", "^Begin of PTRANS", {"hpccinf.txt": HPCC},
        tools=("ln -sf /dev/stdout hpccoutf.txt",), environment={"REPEATED_HPCC": "yes"},
    ),
    "openfoam": Program(
        ("icoFoam", "-parallel"), "^End", "^Time = ", CAVITY,
        f"{EXAMPLES}/incompressible/icoFoam/cavity/cavity", ("blockMesh", "decomposePar"),
        {"WM_PROJECT_DIR": "/usr/share/openfoam"},
    ),
}  # fmt: skip
MPIS = ("openmpi", "mpich")
#: Environment in which ranks of Open MPI talk by sockets only, and say where they wait.
ASLEEP = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_opal_event_include": "epoll", "OMPI_MCA_mpi_yield_when_idle": "1",
}  # fmt: skip


class Launcher:
    """One of the two kinds of MPI: its commands, and an environment in which ranks wait asleep."""

    def __init__(self, mpi: str, folder: Path) -> None:
        self.mpi, self.folder = mpi, folder / mpi
        self.folder.mkdir(exist_ok=True)
        self.program = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}[mpi]
        compiler = {"openmpi": "mpicc.openmpi", "mpich": "mpicc.mpich"}[mpi]
        for needed in (self.program, compiler):
            if shutil.which(needed) is None:
                packages = "openmpi-bin libopenmpi-dev mpich libmpich-dev"
                raise SystemExit(f"{mpi}: {needed} is not in PATH (Debian: apt install {packages})")
        self.programs = compiled(self.folder, "programs", compiler)
        asked = ["-DIN_YIELD"] if mpi == "openmpi" else []
        self.asleep = compiled(self.folder, "sleep_while_waiting", "cc", "-shared", "-fPIC", *asked)

    def words_of(self, program: Program) -> list[str]:
        """Return the words of a program; OSError where it is not installed for this MPI."""
        if program.own:
            return [str(self.programs), *program.words[1:]]
        found = shutil.which(program.words[0])
        if found is None or self.mpi != "openmpi":  # Debian's programs are those of Open MPI
            raise OSError(f"{program.words[0]} is not installed for {self.mpi}")
        return [found, *program.words[1:]]

    def alone(self, ranks: int) -> tuple[list[str], dict[str, str]]:
        """Return the words and the environment that start ranks here, to record what they send."""
        return [self.program, "-n", str(ranks), "--oversubscribe"], {
            **ASLEEP, "OMPI_MCA_btl_tcp_if_include": f"{CONTROL}.0.0/16", "LD_PRELOAD": str(self.asleep)
        }  # fmt: skip

    def command(self, hosts: Hosts, host_of_rank: Sequence[int] | None) -> tuple[list[str], dict[str, str]]:
        """Return the words and the environment that start ranks on hosts; None is the launcher's order."""
        fabric, listed = hosts.fabric, self.folder / "hosts"
        ranks = len(fabric.host_of_core if host_of_rank is None else host_of_rank)
        mark = " slots=" if self.mpi == "openmpi" else ":"
        if host_of_rank is None:
            slots = [fabric.host_of_core.count(host) for host in range(fabric.hosts)]
            lines = [f"{fabric.name(host)}{mark}{count}" for host, count in enumerate(slots)]
        else:
            lines = [fabric.name(host) + ("" if self.mpi == "openmpi" else ":1") for host in host_of_rank]
        listed.write_text("\n".join([*lines, ""]))
        if self.mpi == "openmpi":
            order = [] if host_of_rank is None else ["--map-by", "seq"]
            words = [self.program, "-np", str(ranks), "--hostfile", str(listed), *order, "--bind-to", "none"]
            return [*words, "-x", f"LD_PRELOAD={self.asleep}"], {
                **ASLEEP, "OMPI_MCA_plm_rsh_agent": str(hosts.agent), "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
                "OMPI_MCA_plm_rsh_num_concurrent": "64", "OMPI_MCA_oob_tcp_if_include": f"{CONTROL}.0.0/16",
                "OMPI_MCA_btl_tcp_if_include": f"{DATA}.0.0/16", "OMPI_MCA_orte_leave_session_attached": "1",
            }  # fmt: skip
        words = [self.program, "-launcher", "ssh", "-launcher-exec", str(hosts.agent), "-f", str(listed)]
        return [*words, "-n", str(ranks), "-bind-to", "none", "-genv", "LD_PRELOAD", str(self.asleep)], {
            "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "data", "MPIR_CVAR_NOLOCAL": "1",
        }  # fmt: skip
