"""What a file format is: a name, what it holds, and a reader, a writer or both."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from collections.abc import Mapping as Dictionary
from dataclasses import field
from io import BufferedReader
from typing import Any, ClassVar, TypeAlias

import numpy as np

from hopbytes import kernels
from hopbytes._arrays import Bool
from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping
from hopbytes.text.open_input import MAX_BYTES
from hopbytes.util.registry import Registry

#: Names that users type for a format, taken from its file or its launcher.
ALIASES = {
    "rankfile": "openmpi", "ompi": "openmpi", "srun": "slurm", "mpich": "hydra", "impi": "intel",
}  # fmt: skip

#: The package of formats of patterns.
PATTERNS = "hopbytes.formats.patterns"
#: Formats by their module below ``hopbytes.formats``.
_FORMATS_OF = {
    "patterns.archives": ("npz", "pattern"),
    "patterns.metis": ("metis", "scotch"),
    "patterns.nccl": ("nccl",),
    "patterns.openfoam": ("polymesh",),
    "patterns.otf2": ("otf2",),
    "patterns.parhip": ("parhip",),
    "patterns.profiles": ("ipm", "monitoring", "mpip", "tau"),
    "patterns.programs": ("programs",),
    "patterns.tables": ("csv", "dense", "edges", "mm"),
    "patterns.torch_traces": ("flight", "kineto"),
    "patterns.traces": ("dumpi", "simgrid"),
    "mappings.stored": ("json", "openfoam", "plain"),
    "mappings.openmpi": ("openmpi",),
    "mappings.writers": (
        "cray", "flux", "fujitsu", "hydra", "intel", "jsrun", "lsf", "mvapich", "pals", "pbs", "slurm",
    ),
    "mappings.host_orders": ("hosts", "kubernetes", "mesh", "torchrun"),
    "mappings.new_ranks": ("lammps", "newrank"),
}
formats: Registry[Format] = Registry(
    "format", (PATTERNS, "hopbytes.formats.mappings"), aliases=ALIASES,
    entry_points="hopbytes.formats",
    modules={name: f"hopbytes.formats.{module}" for module, names in _FORMATS_OF.items() for name in names},
)

#: Length of the start of a file that a format inspects to recognise its own files.
HEAD_BYTES = 4096

#: Content of one file. Large patterns are generated in pieces, so that the whole text is never in memory.
Content: TypeAlias = str | bytes | Iterable[bytes]

#: A file with this phrase in its first 4 KiB was written by hopbytes and may be overwritten (files.is_ours).
#: Files whose readers do not skip comments are known by an attribute instead (text/replace_file.py).
MARK = "written by hopbytes"
#: Name in ``graph.meta`` of the path of a trace: the messages of the pattern in their own order.
TRACE = "trace"
#: Name in ``graph.meta`` of the path of the first steps of all ranks, which `record` keeps beside a pattern.
WAITING = "waiting"


@frozen
class Capabilities:
    """What a launch format can express."""

    any_host_order: bool = False  #: nodes may be filled in any order, not only in the launcher's default one
    scattered_ranks: bool = False  #: a node may hold any set of ranks; otherwise only consecutive ranks
    #: every rank can be bound to its own cores, if necessary by a script written beside the file
    per_rank_cores: bool = False
    per_node_cores: bool = False  #: different nodes may use different cores
    several_cores_per_rank: bool = False  #: a rank may be bound to more than one core
    unequal_nodes: bool = False  #: nodes may hold different numbers of ranks
    gpus: bool = False  #: every rank can be shown its own GPUs
    launcher: str = ""  #: the program that reads the file; "" if no launcher reads it
    tested_with_launcher: bool = False  #: the tests run this launcher on written files
    #: the launcher's default mapping: "fill" fills one node after the other, "block" gives every node as many
    #: ranks
    usual_order: str = "fill"


@frozen
class LaunchLine:
    """One of several commands for the same files; the installed MPI decides which of them applies."""

    mpi: str  #: name shown to the user: ``"Open MPI 5"``
    family: str  #: name of the mapping format that its launcher reads natively: ``"openmpi"``, ``"hydra"``
    command: str  #: the command, with ``{stem}`` in place of the file name
    version: str = ""  #: major version of the MPI to which the command applies; "" for all versions


@frozen
class Written:
    """The result of a writer: content only, because the caller writes all files atomically."""

    #: content by suffix: ``""`` is the file that the user named; ``".hosts"`` is written beside it with that
    #: suffix added; formats that have comments put :data:`MARK` into one near the top
    files: Dictionary[str, Content]
    launch: str = ""  #: the exact command to type, with ``{stem}`` in place of the file name; "" if none
    #: sentences for the user: what the format cannot express and what was done instead, also with ``{stem}``
    notices: tuple[str, ...] = ()
    executable: tuple[str, ...] = ()  #: suffixes of the files that are scripts
    #: the mapping that was written, if the writer renumbered slots; it has the same cost as the given one
    mapping: Mapping | None = None
    #: the commands for different MPIs, including `launch`; empty if one command serves all of them
    lines: tuple[LaunchLine, ...] = ()


@frozen
class Source:
    """An opened input, as it is passed to a reader."""

    name: str  #: name of the input in messages
    #: decompressed and bounded content: reading raises FormatError when it is too long, damaged or unreadable
    stream: BufferedReader[Any]
    path: str | None = None  #: None for standard input
    options: Dictionary[str, Any] = field(default_factory=dict)  #: those of :func:`hopbytes.read`
    size: int | None = None  #: total size in bytes; None if unknown before the end (pipes, compressed files)
    #: largest number of bytes after decompression; formats with compressed members apply it to them, too
    max_bytes: int = MAX_BYTES
    workers: int = 1  #: number of threads that may check a large pattern

    @property
    def title(self) -> str:
        """File name without folders; it becomes the name of the graph."""
        return os.path.basename(self.name)

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Return up to `size` bytes from the start without consuming them; call it before the first read."""
        return self.stream.peek(size)[:size]

    def text(self) -> str:
        """Return the remaining content as text; FormatError names the first line that is not UTF-8."""
        data = self.stream.read()
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise self.error(f"byte 0x{data[error.start]:02x}, expected text in UTF-8", line) from None

    def error(self, what: str, line: int | None = None) -> FormatError:
        """Return the error for what was found in the file, and what was expected."""
        return FormatError(self.name, line, what)


class Format:
    """One file format; ``class Metis(Format, form="metis")`` registers one."""

    __slots__ = ()
    form: ClassVar[str] = ""
    #: The kind of content: "pattern" or "mapping".
    holds: ClassVar[str] = "pattern"
    suffixes: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str] = ""
    #: Occurs in the first 4 KiB of files of this format; see :meth:`sniff`.
    signature: ClassVar[re.Pattern[bytes] | None] = None
    #: Files are not text. :meth:`sniff` of other formats is not called for content with control characters.
    binary: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities()
    #: Characters that begin a comment line; :func:`hopbytes.write` writes the mark after them.
    comment: ClassVar[str] = ""
    #: The format always consists of several files and therefore cannot be written to standard output.
    several_files: ClassVar[bool] = False
    #: Characters that must not occur in the file's name, because the launcher interprets them.
    forbidden_characters: ClassVar[str] = ""
    #: Characters that must not occur in the name of any folder on the path, for the same reason.
    forbidden_in_folders: ClassVar[str] = ""

    def __init_subclass__(cls, form: str = "") -> None:
        super().__init_subclass__()
        cls.form = form
        if form:
            formats.register(form)(cls())

    def read(self, source: Source) -> Any:
        """Parse the source; FormatError with path and line if the content is not in this format."""
        raise UnsupportedError(f"{source.name}: this format can be written but not read")

    def write_pattern(self, graph: CommGraph) -> Written:
        """Return the file, with a notice for everything that the format cannot store, see :func:`losses`."""
        raise UnsupportedError("this format cannot hold a communication graph")

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return the files and the launch command for a mapping."""
        raise UnsupportedError("this format cannot hold a mapping")

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether a file looks like this format, by default by its :attr:`signature`.

        `name` is in lower case and without the suffix of a compression; `head` is the first 4 KiB. The
        method is called only when the suffix alone does not determine the format.
        """
        return self.signature is not None and self.signature.search(head) is not None

    def ambiguity(self, source: Source) -> str | None:
        """Return why content of this format may equally be another format; None if it is unambiguous.

        The method is called before reading, and only if the user did not name the format.
        """
        return None


def losses(graph: CommGraph, *, messages: str = "", loads: str = "") -> list[str]:
    """Return notices about message counts and loads that are lost, each with its reason, and the unit."""
    lost = [("message counts", messages, graph.messages), ("loads", loads, graph.loads)]
    notices = [f"{what} are lost: {why}" for what, why, values in lost if why and values is not None]
    if graph.phases:
        notices.append("the phases are lost: only .pattern files keep them beside their sum")
    if graph.scale != 1:
        notices.append(f"volumes are the numbers of the source times {graph.scale}")
    return notices


def undirected_arcs(graph: CommGraph, format: str) -> tuple[Bool, list[str]]:
    """Return which arcs a format of undirected graphs holds, and notices about what is lost; O(n + m)."""
    if not graph.undirected and kernels.find_asymmetry(graph.arcs(graph.volumes)) >= 0:
        raise UnsupportedError("the pattern is not symmetric, expected one that is: use `symmetrize=True`")
    notices = losses(graph, messages=f"{format} files hold one weight per edge")
    keep: Bool = graph.targets != graph.sources()
    loops = graph.m - int(np.count_nonzero(keep))
    if loops:
        notices.append(f"{loops} arcs of tasks to themselves are left out: {format} files have no loops")
    return keep, notices
