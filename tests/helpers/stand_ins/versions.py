"""Launchers and their versions, the stand-in of each, and where its rules come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from helpers.stand_ins import by_hosts, others
from helpers.stand_ins.openmpi import mpirun
from helpers.stand_ins.srun import srun

SLURM = ("22.05", "23.02", "23.11", "24.05", "24.11", "25.05", "25.11", "26.05")
MPI = ("Open MPI 4.0", "Open MPI 4.1", "Open MPI 5.0", "Open MPI 6.0", "MPICH 3.4", "MPICH 4.0", "MPICH 4.3",
       "MPICH 5.0", "Intel MPI 2019", "Intel MPI 2021.19")  # fmt: skip


@dataclass(frozen=True)
class Launcher:
    """A launcher: what users call it, its versions, the stand-in, and the source of the rules.

    `real` are the versions that read written files in a test or were tried by hand.
    """

    name: str
    versions: tuple[str, ...]
    stand_in: Callable[..., object]
    source: str
    real: tuple[str, ...] = ()


LAUNCHERS = {
    "slurm": Launcher(
        "Slurm srun", SLURM, srun,
        "src/common/slurm_opt.c and src/srun/opt.c of 22.05.8 and 24.11.5, NEWS to 24.11, --help of 26.05.5",
        ("22.05", "24.11", "26.05"),
    ),
    "cray": Launcher(
        "srun with Cray MPICH", SLURM, others.cray,
        "srun as above; intro_mpi(3) on MPICH_RANK_REORDER_METHOD",
    ),
    "openmpi": Launcher(
        "Open MPI mpirun", ("4.0", "4.1", "5.0", "6.0"), mpirun,
        "rmaps/rank_file of 4.1.4 and of PRRTE in 5.0.7; PRRTE 5.0.0rc1 of 6.0.0rc2 was asked",
        ("4.1", "5.0", "6.0"),
    ),
    "hydra": Launcher(
        "MPICH mpiexec.hydra", ("3.4", "4.0", "4.1", "4.2", "4.3", "5.0"), by_hosts.hydra,
        "src/pm/hydra/ui/mpich/utils.c and utils/args/args.c of 4.0.2, mpiexec -help of 4.2.1 and 5.0.2",
        ("4.0", "5.0"),
    ),
    "intel": Launcher(
        "Intel MPI mpirun", ("2019", "2021.1", "2021.15", "2021.19"), by_hosts.intel,
        "Developer Reference for Linux, Global Hydra Options and Process Pinning", ("2021.19",),
    ),
    "pals": Launcher("PALS mpiexec", ("1.2",), by_hosts.pals, "guides of Polaris and Aurora"),
    "mvapich": Launcher("MVAPICH2 mpirun_rsh", ("2.3",), by_hosts.mpirun_rsh, "User Guide 2.3"),
    "flux": Launcher(
        "Flux run", ("0.50", "0.62", "0.86"), others.flux,
        "flux-core src/shell/taskmap/hostfile.c, flux-run(1), flux-shell(1)",
    ),
    "pbs": Launcher("PBS mpiexec", MPI, others.in_batch, "the MPI's mpiexec as above"),
    "lsf": Launcher("LSF bsub", MPI, others.in_batch, "bsub -hostfile of 10.1, the MPI's mpiexec as above"),
    "jsrun": Launcher("jsrun", ("10.3",), others.jsrun, "Job Step Manager 10.3, ERF format"),
    "fujitsu": Launcher("Fujitsu mpiexec", ("TCS",), others.by_coordinates, "MPI user's guide, -vcoordfile"),
    "bluegene": Launcher("Blue Gene runjob", ("L/P", "Q"), others.by_coordinates, "Redbook SG24-7948"),
    "torchrun": Launcher(
        "torchrun", ("2.0", "2.4", "2.8"), others.torchrun,
        "torch.distributed.run, pytorch pull request 94505",
    ),
    "mesh": Launcher("torchrun, JAX", ("2.0", "2.4", "2.8"), others.torchrun, "as torchrun"),
    "kubernetes": Launcher(
        "Kubernetes", ("MPIJob v1", "MPIJob v2beta1", "JobSet"), others.of_agents,
        "kubeflow/mpi-operator api/v2beta1 and v1, JobSet and LeaderWorkerSet guides",
    ),
}
#: Launch formats whose file is no launcher's: the program reads it, or the user starts the hosts.
OF_PROGRAMS = {"newrank", "lammps", "hosts"}
