"""What a file format is: a name, what it holds, and a reader, a writer or both."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Any, ClassVar, TypeAlias

from hopbytes._util.registry import Registry
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.textio.open_input import MAX_BYTES

#: What people call formats after the file or the launcher.
ALIASES = {
    "rankfile": "openmpi", "ompi": "openmpi", "srun": "slurm", "mpich": "hydra", "impi": "intel",
}  # fmt: skip

formats: Registry[Format] = Registry(
    "format", ("hopbytes.formats.patterns", "hopbytes.formats.mappings"), ("graph_", "mapping_"), ALIASES,
    entry_points="hopbytes.formats",
)

#: How much of a file formats see when they are asked whether it is theirs.
HEAD_BYTES = 4096

#: What readers may be told beyond the file, each format what it can use: see :func:`hopbytes.read`.
READING = ("collectives", "counts", "graph", "launched", "n", "threads", "where")

#: The same of writers, see :func:`hopbytes.write`.
WRITING = ("allowed", "graph", "hosts", "launched", "metrics", "oversubscribe", "symmetrize", "version")

#: What goes into one file. Large patterns come in pieces, so that the text is never in memory as a whole.
Content: TypeAlias = str | bytes | Iterable[bytes]

#: A file with this phrase in its first 4 KiB is ours and may be overwritten (see files.is_ours).
MARK = "written by hopbytes"


@dataclass(frozen=True, slots=True)
class Can:
    """What a launch format can express.

    Parameters
    ----------
    any_host_order : bool
        Nodes may be filled in any order, not only in the launcher's own.
    scattered_ranks : bool
        A node may hold any ranks; otherwise only consecutive ones.
    per_rank_cores : bool
        Every rank has its own cores (at least by a script written beside the file).
    per_node_cores : bool
        Nodes may use different cores.
    several_cores_per_rank : bool
    unequal_nodes : bool
        Nodes may hold different numbers of ranks.
    gpus : bool
        Every rank sees its own GPUs.
    launcher : str
        The program that reads the file; "" for files that are not for launchers.
    tested_with_launcher : bool
        The tests run that launcher on what is written.
    usual_order : {"fill", "block"}
        How the launcher places ranks by itself: "fill" fills node after node, "block" gives every node
        equally many.
    """

    any_host_order: bool = False
    scattered_ranks: bool = False
    per_rank_cores: bool = False
    per_node_cores: bool = False
    several_cores_per_rank: bool = False
    unequal_nodes: bool = False
    gpus: bool = False
    launcher: str = ""
    tested_with_launcher: bool = False
    usual_order: str = "fill"


@dataclass(frozen=True, slots=True)
class LaunchLine:
    """One of several commands for the same files: which of them is right depends on the MPI that is there.

    Parameters
    ----------
    mpi : str
        For people: ``"Open MPI 5"``.
    family : str
        Name of the placement format that its launcher reads by itself: ``"openmpi"``, ``"hydra"``.
    command : str
        With ``{stem}`` where the file name belongs.
    version : str
        Major version the command is for; "" for all.
    """

    mpi: str
    family: str
    command: str
    version: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer produced.

    Parameters
    ----------
    files : mapping of suffix → content
        ``""`` is the file the user named; ``".hosts"`` is written beside it with that suffix added.
        Nothing is written by the format itself: the caller does it atomically. Formats with comments
        put :data:`MARK` into one near the top.
    launch : str
        The exact command to type, with ``{stem}`` where the file name belongs, or "".
    notices : tuple of str
        Sentences for the user (what could not be said and what was done instead), also with ``{stem}``.
    executable : tuple of str
        Suffixes of the files that are scripts.
    placed : Mapping or None
        The placement that was written, where it is not the very one that was given but just as good.
    lines : tuple of LaunchLine
        The commands for different MPIs, `launch` among them; empty where one command is for all.
    """

    files: Dictionary[str, Content]
    launch: str = ""
    notices: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()
    placed: Mapping | None = None
    lines: tuple[LaunchLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """An opened input: what a reader gets.

    Parameters
    ----------
    name : str
        For messages.
    stream : BufferedReader
        Already decompressed, and bounded: it raises FormatError when the input is longer than allowed,
        damaged or unreadable.
    path : str or None
        None for standard input.
    options : mapping
        What the caller passed to :func:`hopbytes.read` beyond the path.
    size : int or None
        Bytes in all; None when nobody knows before the end (pipes, compressed files).
    max_bytes : int
        The bound of the stream, for formats that contain compressed parts themselves.
    """

    name: str
    stream: BufferedReader[Any]
    path: str | None = None
    options: Dictionary[str, Any] = field(default_factory=dict)
    size: int | None = None
    max_bytes: int = MAX_BYTES

    @property
    def title(self) -> str:
        """File name without folders, what the graph is called."""
        return os.path.basename(self.name)

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Return up to `size` bytes from the start without consuming them (before anything is read)."""
        return self.stream.peek(size)[:size]

    def text(self) -> str:
        """Return the whole rest as text; FormatError at the first line that is not UTF-8."""
        data = self.stream.read()
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            found = f"byte 0x{data[error.start]:02x}, expected text in UTF-8"
            raise FormatError(self.name, line, found) from None


class Format(ABC):
    """One file format. Register an instance: ``formats.register("metis")(Metis())``."""

    __slots__ = ()
    holds: ClassVar[str]  # "pattern" or "placement"
    suffixes: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str] = ""
    can: ClassVar[Can] = Can()
    #: Written files name hopbytes in their first 4 KiB, so that they may be replaced without --force.
    marked: ClassVar[bool] = True
    #: Begins a line that readers skip: :func:`hopbytes.write` puts the mark in front of the content.
    comment: ClassVar[str] = ""
    several_files: ClassVar[bool] = False  # always, so that standard output is no place for it
    misread: ClassVar[str] = ""  # characters in a file's name that the launcher takes for something else
    misread_in_folders: ClassVar[str] = ""  # the same in the name of any folder the file lies in

    def read(self, source: Source) -> Any:
        """Parse; FormatError with path:line on anything that is not this format."""
        raise UnsupportedError(f"{source.name}: this format can be written but not read")

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> Written:
        """Return the file and what got lost on the way into it."""
        raise UnsupportedError("this format cannot hold a communication graph")

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return files and launch command for a placement."""
        raise UnsupportedError("this format cannot hold a placement")

    @abstractmethod
    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether a file looks like this format.

        `name` is in small letters and without the suffix of a compression; `head` is the first 4 KiB.
        Asked only when the suffix alone does not decide.
        """

    def doubt(self, source: Source) -> str | None:
        """Why content that seems to be this format may be meant as another; None when nothing speaks for it.

        Asked before reading, when nobody named the format; naming it settles the doubt.
        """
        return None
