"""Archives of NumPy arrays (``.npz``), whose sizes and types are checked before memory is allocated."""

from __future__ import annotations

import io
import json
import re
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.lib import format as npy

from hopbytes import kernels
from hopbytes._arrays import Array
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.formats.base import MARK, Format, Source, Written
from hopbytes.formats.parsing import check_tasks
from hopbytes.model.comm_graph import CommGraph
from hopbytes.text.documents import parse_object
from hopbytes.text.open_input import check_expansion

#: Exceptions that zipfile and NumPy raise on damaged or malicious content.
FAULTS = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, TypeError, SyntaxError, KeyError,
    RuntimeError, NotImplementedError, OverflowError, RecursionError, tokenize.TokenError,
)


def load_members(source: Source) -> dict[str, Array | bytes]:
    """Return the arrays (``NAME.npy`` as NAME) and other files of an archive; pickled objects are refused."""
    limit = source.max_bytes
    data = io.BytesIO(source.stream.read())
    try:
        with zipfile.ZipFile(data) as archive:
            total = sum(info.file_size for info in archive.infolist())
            if total > limit:
                raise source.error(f"{total} bytes after decompression, expected at most {limit}")
            check_expansion(source.name, data.getbuffer().nbytes, total, limit)
            return {
                info.filename.removesuffix(".npy"): _member(source.name, archive, info)
                for info in archive.infolist()
            }
    except FAULTS as error:
        what = f"a damaged archive ({str(error)[:200]}), expected arrays of NumPy"
        raise source.error(" ".join(what.split())) from None


def _member(name: str, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Array | bytes:
    with archive.open(info) as stream:
        if not info.filename.endswith(".npy"):
            return stream.read()
        version = npy.read_magic(stream)
        if version == (1, 0):
            shape, fortran, dtype = npy.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran, dtype = npy.read_array_header_2_0(stream)
        else:
            raise ValueError(f"array version {version}")
        if dtype.hasobject or dtype.names is not None:
            raise FormatError(name, None, f"{info.filename} holds {dtype}, expected plain numbers")
        content = stream.read()
    count = int(np.prod([int(size) for size in shape], dtype=object)) if shape else 1
    if count < 0 or count * dtype.itemsize != len(content):
        what = f"{len(content)} bytes, expected {count} numbers of {dtype.itemsize} bytes"
        raise FormatError(name, None, f"{info.filename}: {what}")
    array = np.frombuffer(content, dtype) if len(content) else np.empty(0, dtype)
    return array.reshape(shape, order="F" if fortran else "C")


def pack(members: dict[str, Array | bytes]) -> bytes:
    """Return an archive of arrays and files; the same content always gives the same bytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", allowZip64=True) as archive:
        for name, content in members.items():
            # ZipInfo's default date is constant. Text is not compressed, so that the mark is readable.
            info = zipfile.ZipInfo(name if isinstance(content, bytes) else name + ".npy")
            if isinstance(content, bytes):
                archive.writestr(info, content)
                continue
            info.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(info, "w", force_zip64=True) as stream:
                npy.write_array(stream, np.ascontiguousarray(content), allow_pickle=False)
    return out.getvalue()


def integers(source: Source, name: str, value: Array | bytes | None, dtype: Any) -> Array | None:
    """Return a 1-d array as another integer type, None for None; FormatError if numbers do not fit."""
    if value is None:
        return None
    if isinstance(value, bytes) or value.ndim != 1 or (value.size and value.dtype.kind not in "iub"):
        raise source.error(f"{name} has another type, expected a 1-d array of integers")
    info = np.iinfo(dtype)
    if value.size and (int(value.min()) < 0 or int(value.max()) > info.max):
        raise source.error(f"{name} has values from {value.min()} to {value.max()}, expected 0..{info.max}")
    return np.array(value, dtype=dtype)


class Npz(Format, form="npz"):
    """Written archives are readable by ``scipy.sparse.load_npz``: CSR arrays, with additional arrays."""

    signature = re.compile(rb"\APK\x03\x04[\s\S]{0,192}\.npy")
    suffixes = (".npz",)
    binary = True
    summary = "NumPy archive: SciPy sparse matrix, or indptr, targets, volumes, messages, loads"

    def read(self, source: Source) -> CommGraph:
        members = load_members(source)
        arrays = {name: value for name, value in members.items() if not isinstance(value, bytes)}
        if "targets" in arrays or ("indices" in arrays and "indptr" in arrays and "format" not in arrays):
            return _from_rows(source, arrays)
        if "format" in arrays and "shape" in arrays:
            return _from_scipy(source, arrays)
        names = ", ".join(sorted(members)) or "nothing"
        raise source.error(f"the archive holds {names}, expected a SciPy sparse matrix or indptr and targets")

    def write_pattern(self, graph: CommGraph) -> Written:
        arrays: dict[str, Array | bytes] = {
            "written-by": MARK.encode(),
            "format": np.array(b"csr"),
            "shape": np.array([graph.n, graph.n], np.int64),
            "indptr": graph.indptr,
            "indices": graph.targets,
            "data": np.ones(graph.m, np.int8) if graph.volumes is None else graph.volumes,
            "unweighted": np.array(graph.volumes is None),
            "undirected": np.array(graph.undirected),
            "scale": np.array(graph.scale, np.int64),
        }
        if graph.messages is not None:
            arrays["messages"] = graph.messages
        if graph.loads is not None:
            arrays["loads"] = graph.loads
        return Written({"": pack(arrays)})


def _flag(arrays: dict[str, Array], name: str) -> bool:
    return name in arrays and arrays[name].size == 1 and bool(arrays[name].reshape(-1)[0])


#: Arrays of a pattern, and their names in an archive of SciPy where those differ.
ARRAYS: dict[str, Any] = {
    "indptr": np.int64, "targets": np.int32, "volumes": np.int64, "messages": np.int64, "loads": np.int64
}
OF_SCIPY = {"targets": "indices", "volumes": "data"}


def _from_rows(source: Source, arrays: dict[str, Array]) -> CommGraph:
    """Return the graph of CSR arrays with sorted rows, under hopbytes' or SciPy's names."""
    named = {name: arrays.get(name, arrays.get(OF_SCIPY.get(name, name))) for name in ARRAYS}
    if _flag(arrays, "unweighted"):
        named["volumes"] = None
    scale = int(arrays["scale"].reshape(-1)[0]) if "scale" in arrays and arrays["scale"].size == 1 else 1
    return _graph_of(
        source, named, undirected=_flag(arrays, "undirected"), scale=scale,
        meta={"name": source.title, "format": "npz"},
    )


def _graph_of(source: Source, members: Mapping[str, Array | bytes | None], **facts: Any) -> CommGraph:
    """Return the graph of arrays; FormatError if rows are missing, or it is undirected and not symmetric."""
    arrays = {name: integers(source, name, members.get(name), dtype) for name, dtype in ARRAYS.items()}
    indptr, targets = arrays.pop("indptr"), arrays.pop("targets")
    if indptr is None or targets is None or not len(indptr):
        raise source.error("indptr or targets is missing or empty, expected both")
    graph = CommGraph.of_own(indptr, targets, **arrays, **facts)
    if graph.undirected and kernels.find_asymmetry(graph.arcs(graph.volumes), source.workers) >= 0:
        what = "the graph is marked as undirected, but the two directions differ, expected equal ones"
        raise source.error(what)
    return graph


def _from_scipy(source: Source, arrays: dict[str, Array]) -> CommGraph:
    layout = arrays["format"].reshape(-1)[:1].astype("S8").tolist()[0].decode("ascii", "replace")
    shape = arrays["shape"]
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape[0] != shape[1]:
        raise source.error(f"shape {shape.tolist()}, expected a square matrix")
    n = int(shape[0])
    if layout not in ("csr", "csc", "coo"):
        raise UnsupportedError(f"{source.name}: a {layout!r} matrix, expected csr, csc or coo (.tocsr())")
    needed = ("row", "col", "data") if layout == "coo" else ("indptr", "indices", "data")
    missing = [name for name in needed if name not in arrays or arrays[name].ndim != 1]
    if missing:
        raise source.error(f"{missing[0]} is missing, expected a {layout} matrix")
    data = arrays["data"]
    check_tasks(source, None, n, len(data))
    if layout == "csr" and "undirected" in arrays and len(arrays["indptr"]) == n + 1:
        return _from_rows(source, arrays)
    if layout == "coo":
        rows, columns = arrays["row"], arrays["col"]
    else:
        indptr = integers(source, "indptr", arrays["indptr"], np.int64)
        assert indptr is not None
        if len(indptr) != n + 1 or int(indptr[-1]) != len(data) or bool(np.any(np.diff(indptr) < 0)):
            raise source.error("indptr does not match shape and data, expected ascending row pointers")
        outer, inner = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr)), arrays["indices"]
        rows, columns = (outer, inner) if layout == "csr" else (inner, outer)
    return CommGraph.from_edges(rows, columns, data, n=n, meta={"name": source.title, "format": "npz"})


VERSION = 1
#: Name of the pattern of a phase inside an archive.
_PHASE = "phase{}.pattern"


class Pattern(Format, form="pattern"):
    """The native format of hopbytes: arrays, scale, direction and the facts about the source."""

    signature = re.compile(rb"\APK\x03\x04[\s\S]{0,185}header\.json")
    suffixes = (".pattern",)
    binary = True
    summary = "native archive of hopbytes: all arrays, scale and facts about the source"

    def read(self, source: Source) -> CommGraph:
        members = load_members(source)
        header = _header(source, members.get("header.json"))
        facts = {name: header[name] for name in ("undirected", "scale", "meta")}
        graph, phases = _graph_of(source, members, **facts), list[CommGraph]()
        # Patterns of phases are archives inside the archive that have no phases themselves.
        while isinstance(inner := members.get(_PHASE.format(len(phases))), bytes):
            phase = self.read(replace(source, stream=io.BufferedReader(io.BytesIO(inner))))
            if phase.phases or phase.n != graph.n:
                what = f"phase {len(phases)} of {phase.n} tasks, expected {graph.n} and no phases inside"
                raise source.error(what)
            phases.append(phase)
        return replace(graph, phases=tuple(phases)) if phases else graph

    def write_pattern(self, graph: CommGraph) -> Written:
        header = {
            "format": "hopbytes pattern", "version": VERSION, "generator": MARK, "n": graph.n, "m": graph.m,
            "undirected": graph.undirected, "scale": graph.scale, "meta": dict(graph.meta),
        }
        text = json.dumps(header, indent=1, default=str)
        members: dict[str, Array | bytes] = {"header.json": text.encode()}
        members |= {name: getattr(graph, name) for name in ARRAYS if getattr(graph, name) is not None}
        for number, phase in enumerate(graph.phases):
            inner = self.write_pattern(replace(phase, phases=())).files[""]
            assert isinstance(inner, bytes)
            members[_PHASE.format(number)] = inner
        return Written({"": pack(members)})


def _header(source: Source, content: Array | bytes | None) -> dict[str, Any]:
    if not isinstance(content, bytes):
        raise source.error("no header.json inside, expected a pattern written by hopbytes")
    header = parse_object(content, f"{source.name}: header.json", "JSON")
    if header.get("format") != "hopbytes pattern":
        raise source.error("header.json has another format, expected that of a pattern written by hopbytes")
    if header.get("version") != VERSION:
        what = f"pattern version {str(header.get('version'))[:20]}, expected version {VERSION}"
        raise UnsupportedError(f"{source.name}: {what}")
    for key, kind in (("undirected", bool), ("scale", int), ("meta", dict)):
        if not isinstance(header.get(key), kind):
            raise source.error(f"header.json has no valid {key!r}, expected a value of type {kind.__name__}")
    if not 1 <= header["scale"] <= 10**9:
        raise source.error(f"scale {header['scale']}, expected 1 to 10^9")
    return header
