"""The launchers: how each is recognised and called, which options take a value, and which place ranks.

A launcher is a row of :data:`LAUNCHERS`. What it reads is a class of the same name in ``openmpi.py`` or
``writers.py``.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping as Dictionary

from hopbytes._frozen import frozen
from hopbytes.formats.base import Capabilities, formats
from hopbytes.machines.allocate.launcher_order import PLANE
from hopbytes.model.allocation import Allocation

#: Placeholder of the user's program in a printed command.
PROGRAM = "./app"


@frozen
class Launcher:
    """Properties of a launcher and of its command line; options are written without dashes."""

    name: str  # name in messages
    form: str  # name of the launch format that it reads
    rank_variable: str  # environment variable with the rank of a process
    #: options with the number of words that follow them; options that are not listed stand alone
    values: Dictionary[str, int]
    placing: frozenset[str]  # options that determine where ranks run; those of a mapping replace them
    #: options that name the hosts; if the user gives one, that of the mapping is left out
    hosts: frozenset[str] = frozenset()
    counts: tuple[str, ...] = ("n", "np")  # options for the number of ranks
    several: frozenset[str] = frozenset()  # options that start several programs at once
    colons: bool = False  # commands of several programs behind ``:`` were tried
    #: environment variable with the launcher's name of the host; "" means that ``hostname`` is called
    host_variable: str = ""
    #: the launcher accepts the number of ranks either per node or in total; a mapping needs it per node
    counts_per_node: bool = False
    version: str = ""  # version of the installed launcher, if its options depend on the version
    settings: tuple[str, ...] = ()  # prefixes of MCA parameters that place or bind ranks
    assigns: bool = False  # variables for the ranks are given as words NAME=VALUE after the options
    #: names under which it is installed, the usual one first, if it shares them with other launchers
    programs: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()  # names of compiler wrappers other than mpicc
    #: family of MPI whose programs it starts, ``openmpi`` or ``mpich`` (all MPIs with its ABI); "" for any
    family: str = ""
    makers: tuple[str, ...] = ()  # the MPIs that it is distributed with; empty if it belongs to none
    suffix: str = ""  # suffix under which distributions install the compilers of several MPIs

    @property
    def maker(self) -> str:
        """The MPI that it is distributed with; "" if it belongs to none."""
        return self.makers[0] if self.makers else ""


def _words(names: str, **more: int) -> dict[str, int]:
    """Return options that one word follows, and others with their numbers of words."""
    return dict.fromkeys(names.split(), 1) | more


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


# orterun(1) of Open MPI 4.1 and prterun of 5.0.
_OPEN_MPI = Launcher(
    "Open MPI", "openmpi", "OMPI_COMM_WORLD_RANK",
    _words("""
        N max-vm-size hnp H host hostfile default-hostfile machinefile cpu-set c n np npersocket npernode
        map-by cpu-list rank-by bind-to cpus-per-proc cpus-per-rank rf rankfile output-filename stdin
        xml-file xterm path prefix preload-files wd wdir x am tune debugger timeout app cf cartofile
        max-restarts ompi-server personality ppr report-events report-pid report-uri launch-agent display
        output runtime-options pset dvm-uri exec-agent set-sid add-host add-hostfile dvm
        """, mca=2, gmca=2, prtemca=2, pmixmca=2, gpmixmca=2, gprtemca=2),
    _set("""
        map-by bind-to rank-by rankfile rf N npernode pernode npersocket bynode bycore byslot bysocket
        cpu-set cpu-list cpus-per-proc cpus-per-rank bind-to-core bind-to-socket bind-to-none ppr
        loadbalance use-hwthread-cpus
        """),
    hosts=_set("hostfile machinefile host H default-hostfile"), counts=("n", "np", "c"),
    several=_set("app"), colons=True, settings=("rmaps", "hwloc_base_binding_policy", "hwloc_base_cpu_set"),
    programs=("mpirun", "mpiexec", "mpirun.openmpi"), suffix="openmpi", family="openmpi",
    makers=("Open MPI",),
)  # fmt: skip
# srun(1) of Slurm 22.05 to 26.05.
_SLURM = Launcher(
    "Slurm", "slurm", "SLURM_PROCID",
    _words("""
        accel-bind A account acctg-freq bb bbf bcast-exclude b begin D chdir cluster-constraint M clusters
        comment C constraint container S core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu c
        cpus-per-task deadline delay-boot d dependency m distribution epilog e error x exclude export B
        extra-node-info gid gpu-bind gpu-freq G gpus gpus-per-node gpus-per-socket gpus-per-task gres
        gres-flags het-group hint i input J job-name jobid L licenses mail-type mail-user mcs-label mem
        mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network F nodefile w nodelist N nodes n
        ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode o output p
        partition power prefer priority profile prolog q qos r relative reservation signal slurmd-debug
        sockets-per-node switches task-epilog task-prolog thread-spec T threads threads-per-core t time
        time-min tmp uid W wait wckey container-id container-type context extra ignore-signals
        ntasks-per-tres segment tasks-per-node treewidth tres-bind tres-per-task
        """),
    _set("""
        distribution m nodelist w nodefile F exclude x relative r cpu-bind gpu-bind ntasks-per-node
        ntasks-per-core ntasks-per-socket ntasks-per-gpu cpus-per-task c cores-per-socket extra-node-info B
        hint tasks-per-node ntasks-per-tres tres-bind tres-per-task cpus-per-gpu exact
        """),
    counts=("n", "ntasks"), several=_set("multi-prog"), host_variable="SLURMD_NODENAME", compilers=("cc",),
)  # fmt: skip
# mpiexec.hydra of MPICH 4.0 to 5.0 and Intel MPI.
_HYDRA = Launcher(
    "Hydra", "hydra", "PMI_RANK",
    _words("""
        f hosts host hostfile machinefile machine wdir configfile envlist genvlist n np launcher
        launcher-exec rmk topolib bind-to binding map-by membind demux iface ppn perhost prepend-pattern
        outfile-pattern errfile-pattern nameserver localhost usize gpus-per-proc bootstrap bootstrap-exec
        path rankmap memory-alloc-kinds
        """, genv=2, env=2),
    _set("""
        f hosts host hostfile machinefile machine bind-to binding map-by ppn perhost rr grr order-nodes
        rankmap
        """),
    several=_set("configfile"), colons=True, suffix="mpich", family="mpich", makers=("MPICH", "MVAPICH"),
    programs=("mpiexec.hydra", "mpiexec", "mpirun", "mpiexec.mpich"),
)  # fmt: skip
_INTEL = dataclasses.replace(
    _HYDRA, name="Intel MPI", form="intel", colons=False, suffix="", makers=("Intel MPI",),
    programs=("mpirun", "mpiexec", "mpiexec.hydra"), compilers=("mpiicx", "mpiicc", "mpigcc"),
)  # fmt: skip
# mpiexec of PALS, from the user guides of Polaris and Aurora.
_PALS = Launcher(
    "PALS", "pals", "PALS_RANKID",
    _words("""
        n np ppn N hostfile hosts host cpu-bind mem-bind gpu-bind depth d env genv wdir line-buffer soft
        arch path configfile exclude rlimits
        """),
    _set("ppn N hostfile hosts host cpu-bind exclude"), several=_set("configfile"), compilers=("cc",),
)  # fmt: skip
# flux-run(1). It accepts either per-node or per-task options; a mapping needs the per-node options.
_FLUX = Launcher(
    "Flux", "flux", "FLUX_TASK_RANK",
    _words("""
        n ntasks N nodes tasks-per-node tasks-per-core cores c cores-per-task g gpus-per-task gpus-per-node
        t time-limit o setopt setattr env env-file env-remove taskmap job-name queue q B bank input output
        error cwd requires urgency dependency begin-time signal S rlimit flags add-file wait-event
        """),
    _set("taskmap tasks-per-node tasks-per-core cores c cores-per-task g gpus-per-task gpus-per-node"),
    counts=("n", "ntasks"), counts_per_node=True,
)  # fmt: skip
# mpirun_rsh of MVAPICH2 2.3, from its user guide; assignments of variables follow these options.
_MVAPICH = Launcher(
    "MVAPICH", "mvapich", "MV2_COMM_WORLD_RANK",
    _words("np n hostfile hosts config configfile dpmspec spawnfile param ckpt-file"),
    _set("""
        hostfile hosts MV2_ENABLE_AFFINITY MV2_CPU_MAPPING MV2_CPU_BINDING_POLICY MV2_CPU_BINDING_LEVEL
        MV2_HYBRID_BINDING_POLICY MV2_THREADS_PER_PROCESS MV2_PIVOT_CORE_ID
        """),
    several=_set("config configfile"), assigns=True, family="mpich", makers=("MVAPICH",),
)  # fmt: skip
LAUNCHERS: dict[str, Launcher] = {
    row.form: row for row in (_OPEN_MPI, _SLURM, _HYDRA, _INTEL, _PALS, _FLUX, _MVAPICH)
}

#: An unknown launcher: its options are not interpreted, and its program is the first executable word.
OTHER = Launcher("another launcher", "other", "", {}, frozenset(), counts=())
#: Values of the option ``--launcher``.
KINDS = {**LAUNCHERS, "other": OTHER}
#: Environment variables in which launchers pass the number of a rank. SLURM_PROCID is the last one, because
#: the ranks of an mpirun in a batch script all inherit the value 0.
RANK_VARIABLES = tuple(row.rank_variable for row in (_HYDRA, _OPEN_MPI, _PALS, _FLUX, _SLURM))
#: Variables of a job that srun takes as limits of a step (all of them since 23.11): it would choose the CPUs.
STEP_LIMITS = ("SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK")
#: Variable that is set in jobs of Slurm, whose srun places equally many ranks on every node.
SLURM_JOB = "SLURM_JOB_ID"


def usual_order(form: str | None, where: Allocation) -> str:
    """Return the order in which a launcher places ranks by default."""
    can, job = _capabilities(form), where.machine.job
    if form == "hydra" and job is not None and job.uncounted:
        return "cyclic"  # such a host counts as one slot, and they are used in turn (tried with 4.0.2, 5.0.2)
    if can is not None and can.launcher:
        return _of_srun() if can.launcher.startswith("srun") else can.usual_order
    in_slurm = SLURM_JOB in os.environ and job is not None
    return _of_srun() if in_slurm else "fill"


def _of_srun() -> str:
    """Return the order of nodes that srun takes by default, which sbatch and users set for all steps."""
    word = os.environ.get("SLURM_DISTRIBUTION", "").lower().replace(",", ":").partition(":")[0]
    if word.partition("=")[0] == "plane":
        size = word.partition("=")[2] or os.environ.get("SLURM_DIST_PLANESIZE", "")
        return f"plane={size}" if PLANE.fullmatch(f"plane={size}") else "block"
    return "cyclic" if word == "cyclic" else "block"


def slots_for(form: str | None, launched: str | None = None) -> dict[str, bool]:
    """Return keywords of :func:`hopbytes.allocate` that restrict slots to what a format can express."""
    # Some launchers take one number of ranks for all nodes. Format ``newrank`` can use only slots on which
    # the launcher starts ranks by default. The result is empty if the format can express any choice of slots.
    can = _capabilities(form)
    if can is None:
        return {}
    if form == "newrank":
        return {"spread": True} if launched == "cyclic" else {"pack": True}
    return {} if can.unequal_nodes or not can.launcher else {"equal_nodes": True}


def _capabilities(form: str | None) -> Capabilities | None:
    if form is None or form not in formats or formats[form].holds != "mapping":
        return None
    return formats[form].capabilities
