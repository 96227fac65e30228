"""What a file format is: a name, what it holds, and a reader, a writer or both."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping as Dictionary
from dataclasses import dataclass, field
from typing import Any, BinaryIO, ClassVar

from hopbytes.errors import UnsupportedError
from hopbytes.graph import CommGraph
from hopbytes.mapping import Mapping
from hopbytes.registry import Registry

formats: Registry[Format] = Registry("format", "hopbytes.formats")


@dataclass(frozen=True, slots=True)
class Can:
    """What a launch format can express (INTERFACE words)."""

    any_host_order: bool = False
    per_rank_cores: bool = False
    per_node_cores: bool = False
    several_cores_per_rank: bool = False
    unequal_nodes: bool = False
    gpus: bool = False
    tested_with_launcher: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What a placement writer produced.

    Parameters
    ----------
    files : mapping of suffix → text
        ``""`` is the file the user named; ``".hosts"`` is written beside it with that suffix added.
        Nothing is written by the format itself: the caller does it atomically.
    launch : str
        The exact command to type, with ``{stem}`` where the file name belongs, or "".
    notices : tuple of str
        Sentences for the user (what could not be said and what was done instead).
    """

    files: Dictionary[str, str]
    launch: str = ""
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """An opened input: what a reader gets.

    `stream` is already decompressed and bounded; `name` is for messages; `path` is None for stdin.
    """

    name: str
    stream: BinaryIO
    path: str | None = None
    options: Dictionary[str, Any] = field(default_factory=dict)


class Format(ABC):
    """One file format. Register an instance: ``formats.register("metis")(Metis())``."""

    __slots__ = ()
    holds: ClassVar[str]  # "pattern" or "placement"
    suffixes: ClassVar[tuple[str, ...]] = ()
    summary: ClassVar[str] = ""
    can: ClassVar[Can] = Can()

    def read(self, source: Source) -> Any:
        """Parse; FormatError with path:line on anything that is not this format."""
        raise UnsupportedError(f"{source.name}: this format can be written but not read")

    def write_pattern(self, graph: CommGraph, options: Dictionary[str, Any]) -> bytes:
        """Return the file's content."""
        raise UnsupportedError("this format cannot hold a communication graph")

    def write_placement(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return files and launch command for a placement."""
        raise UnsupportedError("this format cannot hold a placement")

    @abstractmethod
    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether a file with this name (compression suffix removed) and first 4 KiB looks like this format."""
