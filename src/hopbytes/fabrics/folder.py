"""A folder with what the InfiniBand tools printed: which file is which, and all of them as one fabric."""

from __future__ import annotations

import fnmatch
import os

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError
from hopbytes.fabrics import ibnetdiscover, ibports, ibtables
from hopbytes.fabrics.fabric import Fabric, build_fabric
from hopbytes.fabrics.ibtables import SwitchTable
from hopbytes.fabrics.survey import Survey
from hopbytes.text.open_input import check_reference

#: Most files that are read; a folder with more is not a folder of one fabric.
MAX_FILES = 8192
HEAD_BYTES = 1 << 14


@frozen
class Files:
    """The files of a folder by what they hold."""

    discovery: tuple[str, ...]
    tables: tuple[str, ...]


def read_fabric(
    path: str, tables: str | None = None, lid_offset: int = 0, *, routed: bool = True
) -> Fabric:
    """Read a fabric from a folder (or one discovery file)."""
    files = sort_files(path, tables, routed=routed)
    if not files.discovery:
        raise FormatError(path, None, "no discovery file, expected one output of ibnetdiscover")
    if len(files.discovery) > 1:
        found = ", ".join(repr(os.path.relpath(name, path)) for name in files.discovery[:3])
        more = f" and {len(files.discovery) - 3} more" * (len(files.discovery) > 3)
        raise FormatError(
            path, None,
            f"{len(files.discovery)} discovery files ({found}{more}), expected one: name the one to use "
            f"and its tables, as in ib:{files.discovery[0]}:tables=dump_fts.txt",
        )
    found_tables = read_all_tables(files.tables) if routed else None
    return build_fabric(read_discovery(files.discovery[0]), found_tables, lid_offset)


def read_discovery(path: str) -> Survey:
    """Read the output of ibnetdiscover in either form, told apart by content."""
    head = _head(path)
    if ibports.is_mine(head):
        return ibports.read_ibports(path)
    if ibnetdiscover.is_mine(head):
        return ibnetdiscover.read_ibnetdiscover(path)
    raise FormatError(path, None, "neither form of ibnetdiscover, expected its plain output or that of -p")


def read_all_tables(paths: tuple[str, ...]) -> list[SwitchTable] | None:
    """Read the tables of several files; None when there is no file."""
    if not paths:
        return None
    return [table for path in paths for table in ibtables.read_tables(path)]


def sort_files(path: str, tables: str | None, *, routed: bool = True) -> Files:
    """Find out what each file of a folder holds; tables are looked for when routes are wanted."""
    check_reference(path, folder=os.path.isdir(path))
    if not os.path.isdir(path):
        folder, candidates, discovery = os.path.dirname(path) or ".", [], [path]
        if tables is not None:
            candidates = _inside(folder)
    else:
        folder, candidates = path, _inside(path)
        discovery = [name for name in candidates if _is_discovery(name)]
    if tables is not None:
        chosen = [name for name in candidates if _fits(name, folder, tables)]
        if not chosen and os.path.isfile(tables):
            chosen = [tables]
        if not chosen:
            raise FormatError(path, None, f"tables={tables}: no such file in {folder}")
    elif not routed:
        chosen = []
    else:
        chosen = [name for name in candidates if name not in discovery and _is_table(name)]
        if len(discovery) < 2:  # an error about two fabrics comes first
            _refuse_several_sets(path, folder, chosen)
    return Files(tuple(discovery), tuple(chosen))


def _inside(folder: str) -> list[str]:
    """Return the regular files of a folder and of the folders in it, sorted."""
    found: list[str] = []
    for root, folders, names in os.walk(folder):
        folders.sort()
        if root.count(os.sep) - folder.rstrip(os.sep).count(os.sep) >= 2:
            folders.clear()
        found += [os.path.join(root, name) for name in sorted(names) if not name.startswith(".")]
        if len(found) > MAX_FILES:
            raise FormatError(folder, None, f"more than {MAX_FILES} files, expected those of one fabric")
    # Files of size 0 include those whose content a kernel generates on reading, perhaps without an end.
    return [name for name in found if os.path.isfile(name) and os.path.getsize(name)]


def _fits(name: str, folder: str, pattern: str) -> bool:
    inside = os.path.relpath(name, folder)
    return fnmatch.fnmatchcase(inside, pattern) or fnmatch.fnmatchcase(os.path.basename(name), pattern)


def _head(path: str) -> str:
    """Return the beginning of a file as text; "" when it cannot be read as one."""
    from hopbytes.text.open_input import open_stream

    with open_stream(path) as source:
        return source.stream.read(HEAD_BYTES).decode("utf-8", "replace")


def _is_discovery(path: str) -> bool:
    try:
        head = _head(path)
    except FormatError:  # an empty or damaged file is ignored; if it was needed, it is reported as missing
        return False
    return ibports.is_mine(head) or ibnetdiscover.is_mine(head)


def _is_table(path: str) -> bool:
    try:
        return ibtables.is_mine(_head(path))
    except FormatError:
        return False


def _refuse_several_sets(path: str, folder: str, chosen: list[str]) -> None:
    """Raise when two files hold a table of the same switch: the user has to say which set is meant."""
    owner: dict[bytes, str] = {}
    for name in chosen:
        first = _first_switch(name)
        if first in owner:
            names = [os.path.relpath(file, folder) for file in (owner[first], name)]
            raise FormatError(
                path, None,
                f"several sets of forwarding tables ({', '.join(names)}), expected one: "
                f"say which, as in ib:{path}:tables={names[0]}",
            )
        owner[first] = name


def _first_switch(path: str) -> bytes:
    found = ibtables.HEADER.search(_head(path).encode())
    assert found is not None
    switch, about = ibtables.words_about_switch(found)
    return about["guid"] if about else switch
