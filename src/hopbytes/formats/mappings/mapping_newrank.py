"""newrank: the new rank of every old rank, for programs that reorder their communicator themselves."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Int32, Int64
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Capabilities, Format, LaunchLine, Source, Written, formats
from hopbytes.formats.files import open_source
from hopbytes.formats.mappings.host_lists import allocation_of, check_count
from hopbytes.formats.mappings.launch_files import PROGRAM, Launch, by_script, prepare
from hopbytes.formats.mappings.mapping_plain import Plain
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.machines.allocate.slot_counts import spread
from hopbytes.model.mapping import Mapping

#: Bounds of a file of PEs: bytes per line, and number of lines without a PE.
MAX_LINE, MAX_COMMENTS = 100, 10_000


class NewRank(Format):
    """Line i holds the new rank of old rank i, the key of ``MPI_Comm_split``; it works with every launcher.

    The launcher starts old rank i on some PE; the program then gives that process the number of the task that
    is mapped to this PE. The program must do so before it distributes data.
    """

    holds = "mapping"
    summary = "new rank of old rank i in line i, for MPI_Comm_split"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True, launcher="MPI_Comm_split",
        tested_with_launcher=True,
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return a file with one line per old rank.

        Options: `launched`, how the launcher maps ranks to the slots in use: ``block`` (the default: one node
        after the other), ``cyclic`` (round robin over the nodes) or the name of a plain file with the PE of
        every old rank; `oversubscribe`.
        """
        launch = prepare(mapping, {**options, "hosts": None})
        new, launched = new_ranks_of(launch, options.get("launched") or "block")
        lines = [str(rank) for rank in new.tolist()]
        # The comment is the last line, so that line i is rank i also for readers that ignore comments.
        lines.append(f"# {MARK}: new rank of old rank i in line i; launched: {launched}")
        files = {"": "\n".join(lines) + "\n"}
        scripts: tuple[str, ...] = ()
        if launch.has_gpus:  # the script looks up the launcher's process number, which is the old rank
            files[".place.sh"] = place_script(launch, order=new.tolist())
            scripts = (".place.sh",)
        commands = commands_of(launch, launched)
        first = commands[0].command if commands else ""
        return Written(files, first, _notices(launch, launched), scripts, lines=commands)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a file of new ranks, for a launcher that maps old ranks as `launched` says.

        Options: `where`; `launched` as for writing (by default what the comment in the last line says, else
        block); `n`. With block, ranks fill one node after the other; with cyclic, every node gets the same
        number of ranks.
        """
        where = allocation_of(source, "a file of new ranks")
        data = source.stream.read()
        new = np.asarray(Plain().read(dataclasses.replace(source, stream=_again(data), options={})))
        check_count(source, len(new))
        twice = np.flatnonzero(np.bincount(new, minlength=len(new)) != 1)
        if len(twice):
            rank = int(twice[0])
            times = int(np.count_nonzero(new == rank))
            what = f"new rank {rank} occurs {times} times, expected every rank once"
            raise FormatError(source.name, None, what)
        launched = source.options.get("launched") or _launched_in_comment(source, data)
        info = {"problem": "processes", "mapper": source.title}
        # mpirun --map-by core fills nodes, mpirun --map-by node distributes ranks over all nodes.
        slots = spread(where, len(new), pack=launched == "block", evenly=launched == "cyclic")
        in_order = Mapping(slots.astype(np.int32), where, info)
        pe = np.empty(len(new), np.int32)
        pe[new] = _launched_pe(prepare(in_order, {}), launched)
        return Mapping(pe, where, info)

    def sniff(self, name: str, head: bytes) -> bool:
        """Return False always, because the numbers look like a plain mapping."""
        return False


formats.register("newrank")(NewRank())


def new_ranks_of(launch: Launch, launched: Any) -> tuple[Int64, str]:
    """Return int64[n], the new rank of every old rank, and how old ranks are launched, as checked text."""
    if not isinstance(launched, str):
        raise UnsupportedError(f"`launched={launched!r}`, expected block, cyclic or the name of a file")
    new = np.empty(launch.n, np.int64)
    # In machine order, the j-th process of the launch becomes the j-th task of the mapping.
    order = np.argsort(_launched_pe(launch, launched), kind="stable")
    new[order] = np.argsort(launch.mapping.pe, kind="stable")
    if not launched.isprintable():
        raise UnsupportedError(f"`launched={launched!a}`, expected a file name that fits one line")
    return new, launched


def _launched_in_comment(source: Source, data: bytes) -> str:
    """Return how the comment in the last line says that ranks are launched.

    A file that the comment names is not opened, because only the user may choose files to read.
    """
    last = data.rstrip().rpartition(b"\n")[2]
    _, ours, launched = last.partition(b"; launched: ")
    if ours and last.startswith(b"#") and launched not in (b"block", b"cyclic"):
        name = launched[:60].decode("utf-8", "backslashreplace")
        what = f"the old ranks are launched as the file {name} says, expected `launched=FILE`"
        raise UnsupportedError(f"{source.name}: {what}")
    return launched.decode() if ours and last.startswith(b"#") else "block"


def _again(data: bytes) -> io.BufferedReader[Any]:
    return io.BufferedReader(io.BytesIO(data))


def _launched_pe(launch: Launch, launched: str) -> Int32:
    """int32[n]: PE on which the launcher starts each old rank."""
    mapping = launch.mapping
    in_order = np.sort(mapping.pe)
    if launched == "block":
        return in_order
    if launched == "cyclic":
        node = mapping.where.node_of_pe[in_order]
        first = np.searchsorted(node, node, side="left")
        turn = np.arange(len(node)) - first  # round in which the node gets a rank on this slot
        return in_order[np.lexsort((node, turn))]
    # The file has a line per task, which bounds its size; a device may have no end.
    most = MAX_LINE * (mapping.n + MAX_COMMENTS)
    with open_source(launched, max_bytes=most, options={"n": mapping.n, "where": mapping.where}) as source:
        placed = Plain().read(source)
    assert isinstance(placed, Mapping)
    found, expected = placed.tasks_per_pe(), mapping.tasks_per_pe()
    differs = np.flatnonzero(found != expected)
    if len(differs):
        pe = int(differs[0])
        what = f"{found[pe]} ranks on PE {pe}, expected {expected[pe]} as in the mapping"
        raise FormatError(launched, None, what)
    return placed.pe


def commands_of(launch: Launch, launched: str) -> tuple[LaunchLine, ...]:
    """Return for each launcher a command that starts ranks as `launched` says.

    If slots have GPUs, the launcher does not bind ranks to cores, and a script shows each rank its GPU.
    """
    if launched not in ("block", "cyclic"):
        return ()
    block, bare = launched == "block", launch.has_gpus
    turns = () if block else ("-ppn 1",)
    by = "node" if not block else "slot" if bare else "core"
    pinned = "-genv I_MPI_PIN=off" if bare else "-genv I_MPI_PIN_DOMAIN=core -genv I_MPI_PIN_ORDER=compact"
    options_of = {
        ("Open MPI", "openmpi", "mpirun"): (f"--map-by {by} --bind-to {'none' if bare else 'core'}",),
        ("MPICH", "hydra", "mpiexec.hydra"): (*turns, f"-bind-to {'none' if bare else 'core'}"),
        ("Intel MPI", "intel", "mpirun"): (*turns, pinned),
        ("Slurm", "slurm", "srun"): (
            f"--distribution={launched}:block --cpu-bind={'none' if bare else 'cores'}",
        ),
    }
    program = f"sh {{stem}}.place.sh {PROGRAM}" if bare else PROGRAM
    return tuple(
        LaunchLine(mpi, family, " ".join([f"{launcher} -n {launch.n}", *options, program]))
        for (mpi, family, launcher), options in options_of.items()
    )


def _notices(launch: Launch, launched: str) -> tuple[str, ...]:
    notices = [
        "in the program, before data is distributed: "
        "MPI_Comm_split(MPI_COMM_WORLD, 0, new_rank[old_rank], &comm)"
    ]
    where = launch.mapping.where
    used = int((launch.mapping.tasks_per_pe() > 0).sum())
    if launch.has_gpus:
        notices.append(by_script(launch, ""))
    if launched in ("block", "cyclic") and used < where.k:
        slots = f"{used} of {where.k} slots"
        notices.append(f"the launcher must start the ranks on the same {slots} that the mapping uses")
    return tuple(notices)
