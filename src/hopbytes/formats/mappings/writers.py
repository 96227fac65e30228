"""Launchers that read a list of hosts, of ranks or of coordinates, and how each of them binds ranks.

Most launchers take one list of CPUs for all nodes, in ascending order of the ranks of a node. Where nodes
need different lists, slots are renumbered inside nodes, which changes no metric. If that does not give one
list, or slots have GPUs, ``.place.sh`` binds. The options of all writers are those of
:func:`hopbytes.formats.mappings.launch_files.prepare`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping as Dictionary
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, LaunchLine, Source, Written
from hopbytes.formats.mappings.host_lists import (
    MAX_RANKS,
    HostList,
    allocation_of,
    as_launched,
    check_count,
    counted_hosts,
    hosts_by_rank,
    hosts_in_blocks,
    lines_of,
    mapping_on_nodes,
    rank_hosts,
)
from hopbytes.formats.mappings.launch_files import (
    ANY_MAPPING,
    Binding,
    Launch,
    LaunchFormat,
    common_binding,
    prepare,
    refuse_gpus,
)
from hopbytes.formats.mappings.launchers import LAUNCHERS, PROGRAM, RANK_VARIABLES
from hopbytes.formats.mappings.numbering import THREAD_NAMES, Numbers
from hopbytes.formats.mappings.openmpi import in_sequence
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.machines.allocate.slot_counts import spread
from hopbytes.machines.geometry import torus_geometry_of
from hopbytes.model.allocation import Allocation, SlotUse
from hopbytes.model.mapping import Mapping
from hopbytes.text.cpu_lists import format_list, number_range
from hopbytes.text.hostlist import LONGEST_ARGUMENT, host_argument
from hopbytes.text.lines import natural_key

DIFFERENT = "nodes need different lists of cores, but the command takes one: {stem}.place.sh binds instead"


class ListBinder(HostList):
    """Base of launchers that take one list of CPUs for all nodes, or run ``.place.sh`` without binding."""

    __slots__ = ()
    start: ClassVar[str] = ""  # the command before its binding and its program
    variables: ClassVar[str] = ""  # variables of the launcher itself, which precede its command
    unbound: ClassVar[str] = ""  # options with which the launcher does not bind
    different: ClassVar[str] = DIFFERENT
    rank_variables: ClassVar[tuple[str, ...]] = RANK_VARIABLES

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        files, command = {"": self._text(launch)}, self._command(launch)
        binding, notices = self._binding(launch), self._notices(launch)
        option = None if binding.cpus is None else self._bound(launch, binding.cpus)
        if option is not None:
            notices += binding.notices
            return binding.written(files, self._complete(binding, command, option), notices)
        files[".place.sh"] = place_script(launch, variables=self.rank_variables)
        notices += self._script_notices(launch)
        script = f"{self._script_options(launch)} sh {{stem}}.place.sh {PROGRAM}"
        return Binding(launch, None).written(files, f"{self.variables}{command} {script}", notices)

    def _text(self, launch: Launch) -> str:
        return hosts_by_rank(launch, self.head("host of rank 0, 1, 2, ..."))

    def _command(self, launch: Launch) -> str:
        return self.start.format(n=launch.n, stem="{stem}")

    def _binding(self, launch: Launch) -> Binding:
        return common_binding(launch)

    def _bound(self, launch: Launch, cpus: tuple[Numbers, ...]) -> str | None:
        """Return the option that binds ranks to one list of CPUs; None if the launcher cannot express it."""
        raise NotImplementedError

    def _complete(self, binding: Binding, command: str, option: str) -> str:
        """Return the command with the option that binds and the settings of OpenMP."""
        return f"{self.variables}{binding.openmp}{command} {option} {PROGRAM}"

    def _script_options(self, launch: Launch) -> str:
        return self.unbound

    def _notices(self, launch: Launch) -> list[str]:
        return launch.assumptions()

    def _script_notices(self, launch: Launch) -> list[str]:
        return [launch.by_script(self.different)]


class Hydra(ListBinder, form="hydra"):
    """Lines ``host:ranks`` in rank order for ``mpiexec.hydra -f``, and ``-bind-to user:``."""
    # Hydra treats a repeated host as another node, whose ranks share no memory with the first ones (tried
    # with 4.0.2), so the ranks of a host must be consecutive (``map --for hydra``).
    # Source: the MPICH wiki, "Using the Hydra process manager", sections on host files and on binding.

    title = "hydra machine file"
    ranks = staticmethod(counted_hosts)
    summary = "MPICH Hydra host file with -bind-to user:, or place.sh where nodes differ"
    capabilities = replace(
        ANY_MAPPING, scattered_ranks=False, launcher="mpiexec.hydra", tested_with_launcher=True
    )
    start = "mpiexec.hydra -f {stem} -n {n}"
    unbound = "-bind-to none"

    def _text(self, launch: Launch) -> str:
        runs = launch.block_runs(self.form)
        lines = (f"{launch.hosts[run.node]}:{run.count}" for run in runs)
        return "\n".join([self.head("ranks in order"), *lines]) + "\n"

    def _bound(self, launch: Launch, cpus: tuple[Numbers, ...]) -> str | None:
        return "-bind-to user:" + ",".join("+".join(map(str, own)) for own in cpus)


class Intel(Hydra, form="intel"):
    """Lines ``host:ranks`` in rank order for ``mpirun -machinefile``; environment variables pin processes."""
    # ``I_MPI_PIN_PROCESSOR_LIST`` names the CPU of the i-th rank of every host, ``I_MPI_PIN_DOMAIN`` its set
    # of CPUs. The script binds also if a host has fewer ranks than another, because its ranks would not be
    # pinned (2021.19: a single rank with a longer list runs on all CPUs; with more domains than ranks a
    # message is printed and the domains are ignored).
    # Source: Intel MPI Library Developer Reference for Linux 2021.15, sections "Global Hydra Options"
    # (-machinefile), "Environment Variables for Process Pinning" (I_MPI_PIN, I_MPI_PIN_PROCESSOR_LIST,
    # intel.com/content/www/us/en/docs/mpi-library/developer-reference-linux/2021-15/
    # environment-variables-for-process-pinning.html) and "Interoperability with OpenMP" (I_MPI_PIN_DOMAIN).

    title = "intel machine file"
    summary = "Intel MPI machine file with I_MPI_PIN_PROCESSOR_LIST, or place.sh where nodes differ"
    capabilities = replace(Hydra.capabilities, launcher="mpirun of Intel MPI")
    start = "mpirun -machinefile {stem} -n {n}"
    unbound = "-genv I_MPI_PIN=off"

    def _notices(self, launch: Launch) -> list[str]:
        job = "inside a batch job put I_MPI_JOB_RESPECT_PROCESS_PLACEMENT=off before the command"
        return [*launch.assumptions(), job]

    def _bound(self, launch: Launch, cpus: tuple[Numbers, ...]) -> str | None:
        if len({run.count for run in launch.runs()}) > 1:  # the ranks of a host are one run
            return None
        if all(len(own) == 1 for own in cpus):
            return "-genv I_MPI_PIN_PROCESSOR_LIST=" + ",".join(str(own[0]) for own in cpus)
        return "-genv I_MPI_PIN_DOMAIN='[" + ",".join(map(_mask, cpus)) + "]'"

    def _complete(self, binding: Binding, command: str, option: str) -> str:
        threads = binding.widest
        openmp = f" -genv OMP_NUM_THREADS {threads} -genv OMP_PLACES cores" if threads > 1 else ""
        return f"{command} {option}{openmp} {PROGRAM}"


class Mvapich(ListBinder, form="mvapich"):
    """Host of rank i in line i for ``mpirun_rsh -hostfile``; ``MV2_CPU_MAPPING`` names the CPUs."""
    # The variable lists the CPUs of the first, second, … rank of every host, separated by colons. Where the
    # script binds, MVAPICH's own affinity is off. mpirun_rsh passes variables to the ranks if they precede
    # the program.
    # Source: MVAPICH2 2.3 User Guide, sections 5.2.1 "Run using mpirun_rsh" (host file), 6.5.3 "User defined
    # CPU Mapping" (MV2_CPU_MAPPING), 11.22 (MV2_ENABLE_AFFINITY) and 13.3 (MV2_COMM_WORLD_RANK),
    # mvapich.cse.ohio-state.edu/userguide.

    title = "MVAPICH host file"
    ranks = staticmethod(rank_hosts)
    summary = "MVAPICH2 host file for mpirun_rsh with MV2_CPU_MAPPING, or place.sh where nodes differ"
    capabilities = replace(ANY_MAPPING, launcher="mpirun_rsh")
    start = "mpirun_rsh -np {n} -hostfile {stem}"
    unbound = "MV2_ENABLE_AFFINITY=0"
    rank_variables = (LAUNCHERS["mvapich"].rank_variable, *RANK_VARIABLES)

    def _bound(self, launch: Launch, cpus: tuple[Numbers, ...]) -> str | None:
        return "MV2_CPU_MAPPING=" + ":".join(map(format_list, cpus))

    def _complete(self, binding: Binding, command: str, option: str) -> str:
        return f"{command} {option} {binding.openmp}{PROGRAM}"


class Pals(ListBinder, form="pals"):
    """One host per line, filled in that order with N ranks each: ``mpiexec --ppn N --hostfile F``."""
    # PALS accepts neither repeated hosts nor different numbers of ranks per host, so the ranks of a host must
    # be consecutive (``map --for pals``). ``--cpu-bind list:`` has colons between ranks. No guide says that
    # PALS skips comments.
    # Source: user guides of ALCF's Polaris and Aurora, "Running jobs", on mpiexec, --ppn, --hostfile and
    # --cpu-bind.

    ranks = staticmethod(hosts_in_blocks)
    summary = "PALS host file with --cpu-bind list:, or place.sh where nodes differ"
    capabilities = replace(
        ANY_MAPPING, scattered_ranks=False, unequal_nodes=False, launcher="mpiexec of PALS"
    )
    unbound = "--cpu-bind none"

    def _text(self, launch: Launch) -> str:
        return "".join(f"{launch.hosts[run.node]}\n" for run in launch.block_runs(self.form))

    def _command(self, launch: Launch) -> str:
        return f"mpiexec -n {launch.n} --ppn {launch.equal_count(self.form)} --hostfile {{stem}}"

    def _bound(self, launch: Launch, cpus: tuple[Numbers, ...]) -> str | None:
        return "--cpu-bind list:" + ":".join(map(format_list, cpus))


class Flux(ListBinder, form="flux"):
    """Host of rank i in line i for ``flux run --taskmap=hostfile:F``; one list of CPUs for all nodes."""
    # ``-o cpu-affinity=map:`` names the sets of the first, second, … rank of a node, separated by semicolons.
    # The script shows GPUs, because ``gpu-affinity`` has no effect in a job that requested no GPUs. The file
    # has no comments, because the documentation does not say that Flux skips them. ``--requires=hosts:``
    # makes Flux allocate the hosts that the task map names; without it the job dies where a host is missing.
    # Source: flux-run(1) on --taskmap and --requires, flux-shell(1) on cpu-affinity and gpu-affinity, RFC 34.

    ranks = staticmethod(rank_hosts)
    summary = "Flux task map by host with cpu-affinity=map:, or place.sh where nodes differ"
    capabilities = replace(ANY_MAPPING, unequal_nodes=False, launcher="flux run", usual_order="block")
    different = "nodes need different cores, which Flux cannot express: {stem}.place.sh binds instead"

    def _text(self, launch: Launch) -> str:
        return hosts_by_rank(launch)

    def _command(self, launch: Launch) -> str:
        count = launch.equal_count(self.form)
        command = f"flux run -N {launch.n // count} --tasks-per-node={count}"
        if not launch.hosts_unknown and launch.hosts != ("localhost",):
            command += f" --requires=hosts:{host_argument(launch.used_hosts)}"
        return f"{command} --taskmap=hostfile:{{stem}}"

    def _notices(self, launch: Launch) -> list[str]:
        number = {node: order for order, node in enumerate(sorted(set(launch.node.tolist())))}
        blocks = ",".join(f"[{number[run.node]},1,{run.count},1]" for run in launch.runs())
        if len(blocks) > LONGEST_ARGUMENT:
            older = f"older Flux cannot start it: --taskmap=manual: would have {len(blocks)} characters"
        else:
            older = f"older Flux: --taskmap=manual:'[{blocks}]', nodes in machine order"
        return [*launch.assumptions(), older]

    def _script_options(self, launch: Launch) -> str:
        return ("-o gpu-affinity=off " if launch.has_gpus else "") + "-o cpu-affinity=off"

    def _bound(self, launch: Launch, cpus: tuple[Numbers, ...]) -> str | None:
        return f"-o cpu-affinity='map:{';'.join(map(format_list, cpus))}'"


class Slurm(ListBinder, form="slurm"):
    """Hostfile for ``srun --distribution=arbitrary``, with ``--cpu-bind`` or a script for the cores."""
    # The script binds also if the job has only a part of its nodes. It shows GPUs, too, because
    # ``--gpu-bind`` is silently ignored if Slurm does not manage the GPUs (tried with 22.05). The command
    # sets SLURM_HOSTFILE for itself only, so that later job steps are not affected.
    # The option --cpus-per-task must be absent: it would restrict the step to as many CPUs as its tasks
    # request, and srun then refuses to bind to the other CPUs of a partly filled node. So must --nodes, which
    # srun has refused beside an arbitrary distribution since 23.11; the file names the nodes.
    # Source: srun(1), sections --distribution, --cpu-bind, --gpu-bind and SLURM_HOSTFILE.

    title = "Slurm hostfile"
    ranks = staticmethod(rank_hosts)
    summary = "Slurm hostfile with --cpu-bind, or place.sh where nodes differ"
    capabilities = replace(ANY_MAPPING, launcher="srun", usual_order="block", tested_with_launcher=True)
    variables = "SLURM_HOSTFILE={stem} "
    different = "nodes need different cores, which srun cannot express: {stem}.place.sh binds instead"
    partial = (
        "the job has only some CPUs of its nodes, which srun may renumber: {stem}.place.sh binds instead"
    )

    def _command(self, launch: Launch) -> str:
        return f"srun -n {launch.n} --distribution=arbitrary" + _overcommit(launch)

    def _binding(self, launch: Launch) -> Binding:
        return common_binding(launch) if _has_whole_nodes(launch) else Binding(launch, None)

    def _bound(self, launch: Launch, cpus: tuple[Numbers, ...]) -> str | None:
        return _srun_option("cpu", cpus)

    def _script_options(self, launch: Launch) -> str:
        return _srun_unbound(launch)

    def _script_notices(self, launch: Launch) -> list[str]:
        gpus, where = launch.common(launch.gpus), launch.mapping.where
        reason = launch.by_script(self.different if _has_whole_nodes(launch) else self.partial)
        if gpus is None or not all(gpus):
            return [reason]
        count = 1 + max(gpu for pe in range(where.k) for gpu in where.gpus_of(pe))
        options = f"--gpus-per-node={count} {_srun_option('gpu', gpus)}"
        command = f"{self.variables}{self._command(launch)} {options} {PROGRAM}"
        return [reason, f"if Slurm manages the GPUs (gres.conf), `{command}` shows them without a script"]

    def _notices(self, launch: Launch) -> list[str]:
        notices = []
        if launch.hosts_unknown or launch.hosts == ("localhost",):
            notices.append(launch.placeholders)
        # `hopbytes run` takes the variable, a limit for srun, out of the environment of srun.
        nodes = "whole nodes (sbatch --exclusive) without SLURM_CPUS_PER_TASK"
        nodes += "; check with: srun --cpu-bind=verbose"
        if launch.binds and not launch.numbering.known:
            cpus = "the CPU numbers of the operating system are unknown and assumed to be the core numbers of"
            notices.append(f"{cpus} {nodes}")
        elif launch.binds and _has_whole_nodes(launch):
            notices.append(f"the binding assumes that the job has {nodes}")
        return notices


def _has_whole_nodes(launch: Launch) -> bool:
    return launch.numbering.whole_nodes(np.concatenate([*map(launch.mapping.where.cores_of, launch.pes)]))


def _overcommit(launch: Launch) -> str:
    return " --overcommit" if launch.most_tasks_on_a_slot() > 1 else ""


def _srun_option(kind: str, lists: tuple[Numbers, ...]) -> str:
    """Return the option that gives CPUs or GPUs to the ranks of every node, in ascending order of ranks."""
    # All versions know ``map_gpu:`` and ``mask_gpu:``, later ones than 22.05 also ``map:`` and ``mask:``.
    if all(len(own) == 1 for own in lists):
        return f"--{kind}-bind=map_{kind}:" + ",".join(str(own[0]) for own in lists)
    return f"--{kind}-bind=mask_{kind}:" + ",".join(map(_mask, lists))


def _srun_unbound(launch: Launch) -> str:
    return "--cpu-bind=none" + (" --gpu-bind=none" if launch.has_gpus else "")


def _mask(numbers: Numbers) -> str:
    """Return a set of numbers as a hexadecimal mask with one bit per number."""
    return hex(sum(1 << number for number in numbers))


class Cray(LaunchFormat, form="cray"):
    """Comma-separated ranks: the k-th is the rank of the process that the launcher starts on slot k."""
    # The launcher fills one node after the other (``--distribution=block``) and Cray MPICH renumbers the
    # processes when it starts, so MPI ranks follow this file while SLURM_PROCID counts slots. All nodes in
    # use must hold the same number of ranks.
    # Source: HPE's manual pages grid_order(1) and intro_mpi(3) (MPICH_RANK_REORDER_METHOD 3), with the user
    # guides of ARCHER2 and LUMI.

    summary = "Cray MPICH rank order file (MPICH_RANK_REORDER_METHOD=3)"
    capabilities = replace(
        ANY_MAPPING, unequal_nodes=False, launcher="srun with Cray MPICH", usual_order="block"
    )
    title = f"# rank order {MARK}"
    per_node = re.compile(f"{title}: [0-9]+ nodes x ([0-9]{{1,9}}) ranks".encode(), re.ASCII)
    #: Ranks in a line.
    per_line = 16

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        count, order = launch.equal_count(self.form), _launched_order(launch)
        used = launch.n // count
        # The launcher starts its process k on the k-th slot in use.
        slots = launch.rearranged(Mapping(mapping.pe[order], mapping.where, mapping.info))
        binding, files = common_binding(slots), {"": self._text(order.tolist(), count, used)}
        srun = f"srun -n {launch.n} -N {used} --ntasks-per-node={count} --distribution=block"
        srun += launch.nodelist() + _overcommit(launch)
        notices = ["slots are counted over the job's nodes in Slurm's order (by name), like SLURM_PROCID"]
        if launch.hosts_unknown:
            names = "host names are unknown and assumed to be in machine order; otherwise give `hosts`"
            notices.append(names)
        notices += launch.assumptions()[launch.hosts_unknown :]
        variables = "MPICH_RANK_REORDER_METHOD=3 MPICH_RANK_REORDER_FILE={stem}"
        if binding.launch is slots and binding.cpus is not None:
            command = f"{variables} {binding.openmp}{srun} {_srun_option('cpu', binding.cpus)} {PROGRAM}"
            return Written(files, command, tuple(notices))
        rank_variables = (LAUNCHERS["slurm"].rank_variable,)
        files[".place.sh"] = place_script(launch, order=order.tolist(), variables=rank_variables)
        command = f"{variables} {srun} {_srun_unbound(launch)} sh {{stem}}.place.sh {PROGRAM}"
        return Written(files, command, (*notices, launch.by_script(Slurm.different)), (".place.sh",))

    def _text(self, order: list[int], count: int, nodes: int) -> str:
        lines = []
        for node in range(nodes):
            own = order[node * count : (node + 1) * count]
            lines += [",".join(map(str, own[i : i + self.per_line])) for i in range(0, count, self.per_line)]
        # Cray's parser reads the file as one list, so a comma ends every line but the last.
        return f"{self.title}: {nodes} nodes x {count} ranks, ranks of the first node first\n" + (
            ",\n".join(lines) + "\n"
        )

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a rank order file; ``0-3`` is a range, ``#`` begins a comment."""
        # Slot k is the k-th PE in use. If there are fewer ranks than PEs, the number of ranks per node is
        # that of the comment in the first line, otherwise ranks are distributed evenly over all nodes.
        where = allocation_of(source, "an order of ranks")
        comment = self.per_node.match(source.head())
        order = _rank_order(source)
        check_count(source, len(order))
        pe = np.empty(len(order), np.int32)
        use = SlotUse(tasks_per_node=int(comment[1])) if comment and order else None
        pe[order] = spread(where, len(order), use)
        return as_launched(source, pe, where)

    def sniff(self, name: str, head: bytes) -> bool:
        return name.startswith("mpich_rank_order") or head.startswith(self.title.encode())


def _launched_order(launch: Launch) -> Int64:
    """Return the task of every slot in use, in the order in which the launcher numbers slots."""
    # Slurm sorts hosts by name and number, whatever the order in which they were requested.
    turn = np.arange(len(launch.hosts))
    if not launch.hosts_unknown:
        by_name = sorted(range(len(launch.hosts)), key=lambda node: natural_key(launch.hosts[node]))
        turn[by_name] = np.arange(len(by_name))
    return np.lexsort((launch.mapping.pe, turn[launch.node])).astype(np.int64)


def _rank_order(source: Source) -> list[int]:
    order: list[int] = []
    seen: set[int] = set()
    for number, line in lines_of(source):
        for word in filter(None, re.split(r"[,\s]+", line)):
            ranks = number_range(word)
            if ranks is None or len(ranks) > MAX_RANKS:
                raise FormatError(source.name, number, f"{word[:40]!r}, expected ranks like 0,1,4-7")
            twice = next((rank for rank in ranks if rank in seen), None)
            if twice is not None:
                raise FormatError(source.name, number, f"rank {twice} occurs twice, expected every rank once")
            seen.update(ranks)
            order += ranks
    if order and max(order) >= len(order):
        missing = next(rank for rank in range(len(order)) if rank not in seen)
        raise FormatError(source.name, None, f"rank {missing} is missing, expected 0 to {max(order)}")
    return order


class Pbs(HostList, form="pbs"):
    """Host of rank i in line i, like a copy of ``$PBS_NODEFILE`` in another order. place.sh binds."""
    # The file has no comment, because parsers of node files may not support comments. The option that makes
    # mpiexec use the lines in order depends on the MPI: Open MPI by default adds up the lines of a host and
    # fills one host after the other (tried with 4.1.4 and 5.0.11), Hydra uses the lines in order.
    # Source: PBS Professional user's guide, "The node file" (one line per MPI process); mpirun(1) of Open MPI
    # 4.1, "--map-by seq".

    ranks = staticmethod(rank_hosts)
    summary = "host of every rank like a PBS node file, with place.sh for the cores"
    several_files = True
    capabilities = replace(ANY_MAPPING, launcher="mpiexec of PBS")

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        sequence = in_sequence(launch.beyond_slots())
        return _rank_by_rank(launch, {"": hosts_by_rank(launch)}, "{stem}", sequence=sequence)


class Lsf(HostList, form="lsf"):
    """Lines ``host ranks`` in rank order for ``bsub -hostfile``; a host may be repeated. place.sh binds."""
    # bsub takes the number of slots from the file and must not get the option ``-n``. Inside the job, Open
    # MPI would fill one host after the other whatever the order of the lines, so the launcher gets the host
    # of every rank in ``.ranks``.
    # Source: IBM Spectrum LSF 10.1, bsub -hostfile, "User-specified host file" ("Do not use with -n").

    title = "LSF host file"
    ranks = staticmethod(counted_hosts)
    summary = "LSF host file for bsub -hostfile, host of every rank, with place.sh for the cores"
    several_files = True
    capabilities = replace(ANY_MAPPING, launcher="bsub")

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        lines = (f"{launch.hosts[run.node]} {run.count}\n" for run in launch.runs())
        files = {"": self.head("ranks in order") + "\n" + "".join(lines), ".ranks": hosts_by_rank(launch)}
        sequence = in_sequence("")  # the slots of the new job are those of the file
        return _rank_by_rank(launch, files, "{stem}.ranks", "bsub -hostfile {stem} ", sequence=sequence)


def _rank_by_rank(
    launch: Launch, files: dict[str, str], hosts: str, before: str = "", *, sequence: str
) -> Written:
    """Return commands that start rank i on the host in line i of a file, where place.sh binds it."""
    start, program = f"{before}mpiexec -n {launch.n}", f"sh {{stem}}.place.sh {PROGRAM}"
    lines = (
        LaunchLine("Open MPI", "openmpi", f"{start} --hostfile {hosts} {sequence} {program}"),
        LaunchLine("MPICH", "hydra", f"{start} -f {hosts} {Hydra.unbound} {program}"),
        LaunchLine("Intel MPI", "intel", f"{start} -machinefile {hosts} {Intel.unbound} {program}"),
    )
    files[".place.sh"] = place_script(launch)
    return Written(files, lines[0].command, tuple(launch.assumptions()), (".place.sh",), lines=lines)


class Jsrun(LaunchFormat, form="jsrun"):
    """A host, hardware threads and GPUs for every rank, for ``jsrun --erf_input``."""
    # jsrun counts hardware threads (four per core of POWER9), so the machine needs a level ``pu``. Hosts
    # without names are numbered from 1 in the job's order.
    # Source: IBM Job Step Manager 10.3, "Explicit Resource File (ERF) format"
    # (ibm.com/support/knowledgecenter/en/SSWRJV_10.1.0/jsm/10.3/base/erf_format.html).

    summary = "explicit resource file for jsrun"
    capabilities = replace(ANY_MAPPING, launcher="jsrun")

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        levels = mapping.where.machine.levels
        if not levels or levels[-1].name not in THREAD_NAMES:
            raise UnsupportedError(
                "jsrun counts hardware threads, expected a machine with a level pu inside its cores, like "
                "core:22 pu:4, or another format, like openmpi or flux"
            )
        lines = [
            f"# resource file {MARK}: logical hardware threads of {launch.n} ranks",
            f"overlapping_rs: {'allow' if launch.most_tasks_on_a_slot() > 1 else 'warn'}",
            "cpu_index_using: logical",
        ]
        for rank, pe in enumerate(mapping.pe.tolist()):
            host = f"hostname: {launch.host(rank)}"
            if launch.hosts_unknown:
                host = f"host: {launch.node[rank] + 1}"
            threads = format_list(launch.numbering.launcher_units(mapping.where.cores_of(pe)))
            gpus = f"; gpu: {{{format_list(launch.gpus(rank))}}}" if launch.gpus(rank) else ""
            lines.append(f"rank: {rank}: {{ {host}; cpu: {{{threads}}}{gpus} }}")
        unknown = "host names are unknown: hosts are numbered in the job's order; or give `hosts`"
        command = f"jsrun --erf_input {{stem}} {PROGRAM}"
        return Written({"": "\n".join(lines) + "\n"}, command, (unknown,) if launch.hosts_unknown else ())


class Fujitsu(LaunchFormat, form="fujitsu"):
    """Line i holds the coordinates of rank i in the job's torus, ``(x,y,z)``; every rank has a line."""
    # The launcher chooses the cores inside a node. The job has to be submitted with the same shape (``#PJM
    # --rsc-list "node=4x4x4:torus"``).
    # Source: Fujitsu "Job Operation Software End-user's Guide", rank-map-hostfile, and mpiexec -vcoordfile in
    # the MPI user's guide, as RIKEN's guide for Fugaku and rankmap4d use them.

    summary = "coordinates of every rank for Fujitsu's mpiexec -vcoordfile"
    signature = re.compile(rb"\A\(\d.{0,37}\)", re.DOTALL)
    capabilities = replace(
        ANY_MAPPING, per_rank_cores=False, per_node_cores=False, several_cores_per_rank=False, gpus=False,
        launcher="mpiexec of Fujitsu MPI",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch = prepare(mapping, options)
        refuse_gpus(launch, self.form)
        lines = [f"({','.join(map(str, at))})" for at in _coordinates(mapping.where)[launch.node].tolist()]
        command = f"mpiexec -n {launch.n} -vcoordfile {{stem}} {PROGRAM}"
        notice = "the launcher chooses the cores inside a node"
        return Written({"": "\n".join(lines) + "\n"}, command, (notice,))

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a file of coordinates; the slots of a node are taken in order."""
        where = allocation_of(source, "a file of coordinates")
        rows = []
        for number, text in lines_of(source):
            if not re.fullmatch(r"\([0-9]{1,6}(,[0-9]{1,6}){0,2}\)", text, re.ASCII):
                raise FormatError(source.name, number, f"{text[:40]!r}, expected coordinates like (0,1,2)")
            rows.append((number, tuple(int(word) for word in text[1:-1].split(","))))
        check_count(source, len(rows))
        coordinates = _coordinates(where)
        node_at = {tuple(at): node for node, at in enumerate(coordinates.tolist())}
        for number, at in rows:
            if at not in node_at:
                sizes = "x".join(str(size + 1) for size in coordinates.max(axis=0).tolist())
                raise source.error(f"no node at {at}, expected coordinates in a {sizes} torus", number)
        node = np.array([node_at[at] for _, at in rows], np.int64)
        return mapping_on_nodes(source, where, node, [number for number, _ in rows])


def _coordinates(where: Allocation) -> Int64:
    """Return int64[nodes, dimensions], the coordinates of every node of a torus or mesh."""
    machine = where.machine
    geometry = torus_geometry_of(machine)
    expected = "fujitsu maps ranks by coordinates, expected a torus or mesh of 1 or 2 or 3 dimensions"
    if geometry is None:
        raise UnsupportedError(f"{expected} (`machine='torus:4x4x4 / core:4'`)")
    coordinates: Int64 = geometry.places.T
    if coordinates.shape[1] > 3:
        raise UnsupportedError(f"{expected}, found {coordinates.shape[1]}")
    if len(np.unique(coordinates, axis=0)) != int(machine.node_of_core()[-1]) + 1:
        raise UnsupportedError(f"{expected} with one node at each router, found several")
    return coordinates
