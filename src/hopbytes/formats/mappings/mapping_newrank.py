"""newrank: the new rank of every old rank, for programs that reorder their communicator themselves."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Int32
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Can, Format, LaunchLine, Source, Written, formats
from hopbytes.formats.files import open_source
from hopbytes.formats.mappings.host_lists import allocation_of, check_count
from hopbytes.formats.mappings.launch_files import PROGRAM, Launch, by_script, prepare
from hopbytes.formats.mappings.mapping_plain import Plain
from hopbytes.formats.mappings.place_script import place_script
from hopbytes.machines.selection.slot_counts import spread
from hopbytes.model.mapping import Mapping

#: Bounds of a file of PEs: bytes a line, and lines that hold none.
MAX_LINE, MAX_COMMENTS = 100, 10_000


class NewRank(Format):
    """Line i holds the new rank of old rank i, the key of ``MPI_Comm_split``; works with every launcher.

    The launcher starts rank i somewhere; the program then gives that process the number of the task
    that belongs there. Valid only before data has been distributed.
    """

    holds = "placement"
    summary = "new rank of old rank i in line i, for MPI_Comm_split"
    can = Can(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True, launcher="MPI_Comm_split",
        tested_with_launcher=True,
    )

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return one line per old rank.

        Options: `launched`, how the launcher places ranks on the slots the mapping uses: ``block`` (the
        default: fill node by node), ``cyclic`` (round the nodes) or the name of a plain file with the
        PE of every old rank; `oversubscribe`.

        Raises
        ------
        FormatError
            The file of `launched` puts another number of ranks on some PE than the mapping.
        UnsupportedError
            `launched` is no text.
        InfeasibleError
            See :func:`hopbytes.formats.mappings.launch_files.prepare`.
        """
        launch = prepare(mapping, {**options, "hosts": None})
        launched = options.get("launched") or "block"
        if not isinstance(launched, str):
            raise UnsupportedError(f"launched={launched!r}, expected block, cyclic or the name of a file")
        new = np.empty(launch.n, np.int64)
        # The j-th slot in machine order holds old rank by_slot[j] and shall hold task tasks[j].
        new[np.argsort(_launched_pe(launch, launched), kind="stable")] = np.argsort(mapping.pe, kind="stable")
        lines = [str(rank) for rank in new.tolist()]
        # At the end, so that line i stays rank i also for readers that know no comments.
        if not launched.isprintable():
            raise UnsupportedError(f"launched={launched!a}, expected a file name that fits one line")
        lines.append(f"# {MARK}: new rank of old rank i in line i; launched: {launched}")
        files = {"": "\n".join(lines) + "\n"}
        scripts: tuple[str, ...] = ()
        if launch.carries:  # by the launcher's own number of a process, which is the old rank
            files[".place.sh"] = place_script(launch, order=new.tolist())
            scripts = (".place.sh",)
        commands = _commands(launch, launched)
        first = commands[0].command if commands else ""
        return Written(files, first, _notices(launch, launched), scripts, lines=commands)

    def read(self, source: Source) -> Mapping:
        """Return the mapping of a file of new ranks: where they sit when ranks start as `launched` says.

        Options: `where`; `launched` as for writing (default: block or cyclic as our own last line says,
        else block); `n`. Launched by block, ranks fill node after node; by cyclic, every node has equally
        many.

        Raises
        ------
        FormatError
            A line that is no rank, a rank twice, another number of ranks than `n`.
        UnsupportedError
            No machine was given, or the ranks are launched as a file says and nobody gave that file.
        InfeasibleError
            More ranks than PEs.
        """
        where = allocation_of(source, "a file of new ranks")
        data = source.stream.read()
        new = np.asarray(Plain().read(dataclasses.replace(source, stream=_again(data), options={})))
        check_count(source, len(new))
        twice = np.flatnonzero(np.bincount(new, minlength=len(new)) != 1)
        if len(twice):
            rank = int(twice[0])
            times = int(np.count_nonzero(new == rank))
            raise FormatError(source.name, None, f"new rank {rank} {times} times, expected every rank once")
        launched = source.options.get("launched") or _said(source, data)
        info = {"problem": "processes", "mapper": source.title}
        # mpirun --map-by core fills nodes, mpirun --map-by node deals ranks over all of them.
        slots = spread(where, len(new), pack=launched == "block", evenly=launched == "cyclic")
        in_order = Mapping(slots.astype(np.int32), where, info)
        pe = np.empty(len(new), np.int32)
        pe[new] = _launched_pe(prepare(in_order, {}), launched)
        return Mapping(pe, where, info)

    def sniff(self, name: str, head: bytes) -> bool:
        """Never: the numbers alone look like a plain placement."""
        return False


formats.register("newrank")(NewRank())


def _said(source: Source, data: bytes) -> str:
    """Return how ranks are launched by our own last line; a file it names is not opened unasked."""
    last = data.rstrip().rpartition(b"\n")[2]
    _, ours, said = last.partition(b"; launched: ")
    if ours and last.startswith(b"#") and said not in (b"block", b"cyclic"):
        name = said[:60].decode("utf-8", "backslashreplace")
        raise UnsupportedError(f"{source.name}: for ranks launched as {name} says, expected `launched=FILE`")
    return said.decode() if ours and last.startswith(b"#") else "block"


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
        turn = np.arange(len(node)) - first  # a node takes its turn-th rank in that round
        return in_order[np.lexsort((node, turn))]
    # A line per task: a longer file, or one without end, is none.
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


def _commands(launch: Launch, launched: str) -> tuple[LaunchLine, ...]:
    """How each launcher is told to start ranks as `launched` says; it may not do so by itself.

    Slots that carry GPUs without known cores leave binding to nobody, and a script names the GPUs.
    """
    if launched not in ("block", "cyclic"):
        return ()
    block, bare = launched == "block", launch.carries
    turns = () if block else ("-ppn 1",)
    by = "node" if not block else "slot" if bare else "core"
    pinned = "-genv I_MPI_PIN=off" if bare else "-genv I_MPI_PIN_DOMAIN=core -genv I_MPI_PIN_ORDER=compact"
    said = {
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
        for (mpi, family, launcher), options in said.items()
    )


def _notices(launch: Launch, launched: str) -> tuple[str, ...]:
    notices = [
        "in the program, before data is distributed: "
        "MPI_Comm_split(MPI_COMM_WORLD, 0, new_rank[old_rank], &comm)"
    ]
    where = launch.mapping.where
    used = int((launch.mapping.tasks_per_pe() > 0).sum())
    if launch.carries:
        notices.append(by_script(launch, ""))
    if launched in ("block", "cyclic") and used < where.k:
        notices.append(f"the launcher must use the same {used} of {where.k} slots as the mapping")
    return tuple(notices)
