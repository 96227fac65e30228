"""newrank and lammps: the new rank of every old rank, for programs that reorder their communicator.

The launcher starts old rank i on some PE; the program then gives that process the number of the task that is
mapped to this PE. Option `launched` says how the launcher maps ranks to the slots in use: ``block`` (the
default: one node after the other), ``cyclic`` (round robin over the nodes) or the name of a plain file with
the PE of every old rank.
"""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from dataclasses import replace
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, LaunchLine, Source, Written
from hopbytes.formats.files import open_source
from hopbytes.formats.mappings.host_lists import allocation_of, as_launched, check_count
from hopbytes.formats.mappings.launch_files import ANY_MAPPING, Launch, LaunchFormat, prepare
from hopbytes.formats.mappings.launchers import PROGRAM
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.formats.mappings.stored import Plain, pes_in
from hopbytes.machines.allocate.slot_counts import spread
from hopbytes.model.allocation import SlotUse
from hopbytes.model.mapping import Mapping

#: Bounds of a file of PEs: bytes per line, and number of lines without a PE.
MAX_LINE, MAX_COMMENTS = 100, 10_000


class NewRank(LaunchFormat, form="newrank"):
    """Line i holds the new rank of old rank i, the key of ``MPI_Comm_split``; for every launcher."""
    # The program must reorder its ranks before it distributes data.

    summary = "new rank of old rank i in line i, for MPI_Comm_split"
    capabilities = replace(ANY_MAPPING, launcher="MPI_Comm_split", tested_with_launcher=True)

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch, new, launched = _new_ranks(mapping, options)
        # The comment is the last line, so that line i is rank i also for readers that ignore comments.
        comment = f"# {MARK}: new rank of old rank i in line i; launched: {launched}"
        notices = [
            "in the program, before data is distributed: "
            "MPI_Comm_split(MPI_COMM_WORLD, 0, new_rank[old_rank], &comm)"
        ]
        if launch.has_gpus:
            notices.append(launch.by_script(""))
        used, slots = len(launch.pes), mapping.where.k
        if launched in ("block", "cyclic") and used < slots:
            which = f"{used} of {slots} slots"
            notices.append(f"the launcher must start the ranks on the same {which} that the mapping uses")
        return _written(launch, [*map(str, new.tolist()), comment], new, launched, notices)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a file of new ranks, for a launcher that maps old ranks as `launched`."""
        # By default as the comment in the last line says, else block.
        where = allocation_of(source, "a file of new ranks")
        data = source.stream.read()
        new = pes_in(source.name, data)
        check_count(source, len(new))
        times = np.bincount(new, minlength=len(new))
        if (times != 1).any():
            rank = int(np.argmax(times != 1))
            raise source.error(f"new rank {rank} occurs {times[rank]} times, expected every rank once")
        launched = source.options.get("launched") or _launched_in_comment(source, data)
        # mpirun --map-by core fills nodes, mpirun --map-by node distributes ranks over all nodes.
        slots = spread(where, len(new), SlotUse(pack=launched == "block", spread=launched == "cyclic"))
        pe = np.empty(len(new), np.int32)
        pe[new] = _launched_pe(as_launched(source, slots, where), launched)
        return as_launched(source, pe, where)


class Lammps(LaunchFormat, form="lammps"):
    """Lines with an old rank and its new rank, for ``lmp -reorder custom FILE``."""
    # LAMMPS splits its communicator by the new ranks before it lays its grid of processors, so that the file
    # works with every launcher that starts old ranks as `launched` says.
    # Source: LAMMPS, ``Universe::reorder`` and the documentation of its command-line options.

    summary = "old rank and new rank in a line, for -reorder custom of LAMMPS"
    capabilities = replace(
        ANY_MAPPING, per_rank_cores=False, per_node_cores=False, several_cores_per_rank=False,
        launcher="lmp -reorder custom",
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        launch, new, launched = _new_ranks(mapping, options)
        head = f"# {MARK}: old rank and new rank of {launch.n} processes; launched: {launched}"
        lines = [head, *(f"{old} {rank}" for old, rank in enumerate(new.tolist()))]
        notices = [launch.by_script("")] if launch.has_gpus else []
        return _written(launch, lines, new, launched, notices, " -reorder custom {stem} -in in.script")


def _new_ranks(mapping: Mapping, options: Dictionary[str, Any]) -> tuple[Launch, Int64, str]:
    """Return int64[n], the new rank of every old rank, and how old ranks are launched, as checked text."""
    launch, launched = prepare(mapping, {**options, "hosts": None}), options.get("launched") or "block"
    if not isinstance(launched, str):
        raise UnsupportedError(f"`launched={launched!r}`, expected block, cyclic or the name of a file")
    new = np.empty(launch.n, np.int64)
    # In machine order, the j-th process of the launch becomes the j-th task of the mapping.
    order = np.argsort(_launched_pe(mapping, launched), kind="stable")
    new[order] = np.argsort(mapping.pe, kind="stable")
    if not launched.isprintable():
        raise UnsupportedError(f"`launched={launched!a}`, expected a file name that fits one line")
    return launch, new, launched


def _written(
    launch: Launch, lines: list[str], new: Int64, launched: str, notices: list[str], arguments: str = ""
) -> Written:
    """Return the lines of a file, with a script if slots have GPUs, and a command for each launcher."""
    files = {"": "\n".join(lines) + "\n"}
    if launch.has_gpus:  # the script looks up the launcher's process number, which is the old rank
        files[".place.sh"] = place_script(launch, order=new.tolist())
    commands = _commands(launch, launched, arguments)
    first = commands[0].command if commands else ""
    return Written(files, first, tuple(notices), tuple(files)[1:], lines=commands)


def _commands(launch: Launch, launched: str, arguments: str) -> tuple[LaunchLine, ...]:
    """Return for each launcher a command that starts ranks as `launched` says."""
    # If slots have GPUs, the launcher does not bind ranks to cores, and a script shows each rank its GPU.
    if launched not in ("block", "cyclic"):
        return ()
    bare, one_each = launch.has_gpus, "" if launched == "block" else "-ppn 1 "
    by = "node" if one_each else "slot" if bare else "core"
    bind = "none" if bare else "core"
    pinned = "-genv I_MPI_PIN=off" if bare else "-genv I_MPI_PIN_DOMAIN=core -genv I_MPI_PIN_ORDER=compact"
    cores = "none" if bare else "cores"
    program = (f"sh {{stem}}.place.sh {PROGRAM}" if bare else PROGRAM) + arguments
    return tuple(
        LaunchLine(mpi, family, f"{program_name} -n {launch.n} {options} {program}")
        for mpi, family, program_name, options in (
            ("Open MPI", "openmpi", "mpirun", f"--map-by {by} --bind-to {bind}"),
            ("MPICH", "hydra", "mpiexec.hydra", f"{one_each}-bind-to {bind}"),
            ("Intel MPI", "intel", "mpirun", f"{one_each}{pinned}"),
            ("Slurm", "slurm", "srun", f"--distribution={launched}:block --cpu-bind={cores}"),
        )
    )


def _launched_in_comment(source: Source, data: bytes) -> str:
    """Return how the comment in the last line says that ranks are launched."""
    # A file that the comment names is not opened, because only the user may choose files to read.
    last = data.rstrip().rpartition(b"\n")[2]
    _, ours, launched = last.partition(b"; launched: ")
    if not ours or not last.startswith(b"#"):
        return "block"
    if launched not in (b"block", b"cyclic"):
        name = launched[:60].decode("utf-8", "backslashreplace")
        what = f"the old ranks are launched as the file {name} says, expected `launched=FILE`"
        raise UnsupportedError(f"{source.name}: {what}")
    return launched.decode()


def _launched_pe(mapping: Mapping, launched: str) -> Int32:
    """int32[n]: PE on which the launcher starts each old rank."""
    in_order = np.sort(mapping.pe)
    if launched == "block":
        return in_order
    if launched == "cyclic":
        node = mapping.where.node_of_pe[in_order]
        turn = np.arange(len(node)) - np.searchsorted(node, node)  # round in which the node gets this rank
        return in_order[np.lexsort((node, turn))]
    # The file has a line per task, which bounds its size; a device may have no end.
    most = MAX_LINE * (mapping.n + MAX_COMMENTS)
    with open_source(launched, max_bytes=most, options={"n": mapping.n, "where": mapping.where}) as source:
        placed = Plain().read(source)
    assert isinstance(placed, Mapping)
    found, expected = placed.tasks_per_pe(), mapping.tasks_per_pe()
    if (found != expected).any():
        pe = int(np.argmax(found != expected))
        what = f"{found[pe]} ranks on PE {pe}, expected {expected[pe]} as in the mapping"
        raise FormatError(launched, None, what)
    return placed.pe
