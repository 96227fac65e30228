"""Files of mappings that no launcher reads: json has all that is known of one, plain and openfoam the PEs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping as Dictionary
from typing import Any, TypeVar

import numpy as np

from hopbytes._arrays import Int32, Int64, UInt8
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats.base import MARK, TRACE, Source, Written
from hopbytes.formats.kept_trace import digest, pattern_sha256
from hopbytes.formats.mappings.launch_files import ANY_MAPPING, LaunchFormat
from hopbytes.formats.parsing import is_label_list, read_labels
from hopbytes.machines.base import Machine
from hopbytes.machines.distances import Distance, TableDistance, TreeDistance
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.text.cpu_lists import format_list, number_range
from hopbytes.text.documents import Record
from hopbytes.text.hostlist import NODE_NAME
from hopbytes.text.open_input import named_in
from hopbytes.util.quantities import plain_value

T = TypeVar("T")
KIND = "hopbytes mapping"
VERSION = 1
COMMENTS = (b"#", b"%")
FOAM_HEADER = """FoamFile
{
    version     2.0;
    format      ascii;
    class       labelList;
    location    "constant";
    object      cellDecomposition;
}

"""


class Plain(LaunchFormat, form="plain"):
    """One line per task with the number of its PE, as graph partitioners write their partitions."""

    suffixes = (".txt", ".map", ".part")
    # There is no comment: partitioners read a number from every line.
    summary = "PE of task i in line i"
    capabilities = ANY_MAPPING

    def read(self, source: Source) -> Mapping | Int32:
        """Return a Mapping if the option `where` is given, else int32[n]; ``#`` and ``%`` begin comments."""
        where, n = source.options.get("where"), source.options.get("n")
        limit = where.k if where is not None else 2**31 - 1
        pe = pes_in(source.name, source.stream.read(), limit)
        if n is not None and len(pe) != n:
            raise source.error(f"{len(pe)} lines with a PE, expected {n}, one for each task")
        return pe if where is None else Mapping(pe, where)

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        return Written({"": _number_lines(mapping.pe)})

    def sniff(self, name: str, head: bytes) -> bool:
        complete = head.splitlines()[:-1] or head.splitlines()
        lines = [line.strip() for line in complete if line.strip() and not line.startswith(COMMENTS)]
        # A negative number is none of a PE, but the reader can say in which line it stands.
        return bool(lines) and all(line.removeprefix(b"-").isdigit() for line in lines)


def _number_lines(pe: Int32) -> str:
    """Return one line per number, from a table of all lines; what fills up short lines there is left out."""
    if not len(pe):
        return ""
    numbers, rows = list(range(int(pe.max()) + 1)), pe
    if len(numbers) > len(pe):
        used, inverse = np.unique(pe, return_inverse=True)
        numbers, rows = used.tolist(), inverse.astype(np.int32)
    lines = np.array([f"{number}\n" for number in numbers], "S")
    filled: UInt8 = lines.take(rows, mode="clip").view(np.uint8)
    text: bytes = filled[filled != 0].tobytes()
    return text.decode("ascii")


def pes_in(name: str, data: bytes, limit: int = 2**31 - 1) -> Int32:
    """Return the numbers of a file with one in every line, comments aside."""
    pe = _fast(data, limit)
    return _line_by_line(name, data, limit) if pe is None else pe


def _fast(data: bytes, limit: int) -> Int32 | None:
    """Parse well-formed text with comments at the start only; return None for any other text."""
    while data.startswith(COMMENTS):
        data = data.partition(b"\n")[2]
    words = data.split()
    if not words or words != [line.strip() for line in data.splitlines()]:
        return None
    if max(map(len, words)) > 10 or not b"".join(words).isdigit():
        return None
    pe = np.array(words).astype(np.int64)
    return pe.astype(np.int32) if int(pe.max()) < limit else None


def _line_by_line(name: str, data: bytes, limit: int) -> Int32:
    values: list[int] = []
    for number, line in enumerate(data.splitlines(), start=1):
        text = line.strip()
        if not text or text.startswith(COMMENTS):
            continue
        if not text.isdigit() or len(text) > 18:
            found = text[:40].decode("utf-8", "backslashreplace")
            hint = " (`read_mapping(format='pbs')` reads the host of every rank)"
            hosts = not values and found[:1].isalpha() and NODE_NAME.fullmatch(found)
            raise FormatError(name, number, f"{found!r}, expected the number of a PE{hint if hosts else ''}")
        if int(text) >= limit:
            raise FormatError(name, number, f"PE {int(text)}, expected one of 0..{limit - 1}")
        values.append(int(text))
    return np.array(values, np.int32)


class OpenFoam(LaunchFormat, form="openfoam"):
    """A list of labels in the folder ``constant`` of a case: cell i belongs to processor ``list[i]``."""
    # decomposePar reads it by ``method manual`` and writes one like it with ``-cellDist``. Processor i
    # becomes rank i, which has to start on PE i, as launchers place ranks that fill the nodes in order.
    # Source: OpenFOAM, annotated ``decomposeParDict`` and ``manualDecomp``; decomposePar 1912 has read it.

    summary = "OpenFOAM's processor of every cell, for decomposePar with method manual"
    comment = "//"
    capabilities = ANY_MAPPING

    def read(self, source: Source) -> Mapping | Int32:
        """Return a Mapping if the option `where` is given, else int32[n]."""
        where, n = source.options.get("where"), source.options.get("n")
        labels = read_labels(source.name, source.stream.read())
        limit = where.k if where is not None else 2**31 - 1
        if len(labels) and int(labels.max()) >= limit:
            cell = int(np.argmax(labels >= limit))
            raise source.error(f"cell {cell} on processor {labels[cell]}, expected one of 0..{limit - 1}")
        if n is not None and len(labels) != n:
            raise source.error(f"{len(labels)} cells, expected {n}, one for each task")
        pe = labels.astype(np.int32)
        return pe if where is None else Mapping(pe, where)

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        notice = (
            f"in system/decomposeParDict: numberOfSubdomains {mapping.where.k}; method manual; manualCoeffs "
            '{ dataFile "NAME"; } with the name of this file in the folder constant'
        )
        text = f"{FOAM_HEADER}{mapping.n}\n(\n{_number_lines(mapping.pe)})\n"
        return Written({"": text}, notices=(notice,))

    def sniff(self, name: str, head: bytes) -> bool:
        return is_label_list(head) and os.path.basename(name) not in ("owner", "neighbour")


class Json(LaunchFormat, form="json"):
    """A stored mapping: map once, launch often (``hopbytes write MAPPING.json --format F``)."""

    suffixes = (".json",)
    signature = re.compile(rb"\A\s*\{.*" + KIND.encode(), re.DOTALL)
    summary = "mapping with machine, slots, hosts, hashes and metrics"
    capabilities = ANY_MAPPING

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return one JSON object; the array of PEs is its last field."""
        # Options: `graph`, the pattern, whose hash is then stored; `metrics`, a dictionary that is stored
        # unchanged (such as ``Evaluation.to_dict()``).
        where, graph = mapping.where, options.get("graph")
        # Launch files of several programs can be written from the mapping alone.
        programs = None if graph is None else graph.meta.get("programs")
        record = {
            "kind": KIND,
            "by": MARK,
            "version": VERSION,
            "n": mapping.n,
            "k": where.k,
            "machine": where.machine.spec(),
            "machine_sha256": machine_sha256(where),
            "pattern_sha256": None if graph is None else pattern_sha256(graph),
            "hosts": list(where.hosts),
            "slots": [format_list(where.cores_of(pe).tolist()) for pe in range(where.k)],
            "capacity": where.capacity,
            "endpoints": where.endpoints,
            "gpus": where.gpus,
            "info": {**mapping.info, **({} if programs is None else {"programs": programs})},
            "metrics": options.get("metrics"),
            "pe": mapping.pe.tolist(),
        }
        lines = [f"{json.dumps(k)}: {json.dumps(value, default=plain_value)}" for k, value in record.items()]
        return Written({"": "{\n" + ",\n".join(lines) + "\n}\n"})

    def read(self, source: Source) -> Mapping:
        """Return the mapping with the allocation for which it was made."""
        # `where` must be the same machine, `graph` the same pattern or a trace of as many tasks.
        record = _Record(source.text(), source.name, KIND, VERSION)
        n, where, graph = (source.options.get(key) for key in ("n", "where", "graph"))
        # The given machine replaces an equal stored one, whose file may have been moved since then.
        if where is not None and record.fields.get("machine_sha256") == machine_sha256(where):
            made_for = record.allocation(where.machine)
        else:
            made_for = record.allocation(record.machine(source.path))
        try:
            pe, info = record.numbers("pe", np.int32), record.value("info", dict, "an object")
            mapping = Mapping(pe, made_for, info)
        except FormatError as error:
            raise source.error(error.what, error.line) from None
        for field, count in (("n", mapping.n), ("k", made_for.k)):
            if record.fields.get(field) != count:
                raise record.bad(field, f"{count}, the number of entries in the list")
        if record.value("machine_sha256", str, "a text") != machine_sha256(made_for):
            what = "machine and slots do not match machine_sha256, expected an unedited file and an unchanged"
            raise source.error(f"{what} machine file")
        if n is not None and mapping.n != n:
            raise source.error(f"a mapping of {mapping.n} tasks, expected {n}")
        if where is not None:
            check_same_machine(mapping, where, source.name)
        stored = record.fields.get("pattern_sha256")
        if graph is not None and (graph.n != mapping.n or stored not in (None, pattern_sha256(graph))):
            if graph.meta.get(TRACE) is not None and graph.n == mapping.n:
                # A recording's pattern has the messages of its collectives, its trace the calls.
                return Mapping(mapping.pe, mapping.where, {**mapping.info, "other_pattern": True})
            raise UnsupportedError(
                f"{source.name}: the mapping was made for another pattern, expected {graph.name} (map again)"
            )
        return mapping


def check_same_machine(mapping: Mapping, where: Allocation, name: str = "mapping") -> None:
    """Raise UnsupportedError if a mapping was made for other slots, distances or nodes than `where`."""
    if machine_sha256(mapping.where) != machine_sha256(where):
        described = [
            f"{own.k} slots with {len(own.cores)} cores of '{own.machine.spec()}'"
            for own in (mapping.where, where)
        ]
        raise UnsupportedError(f"{name}: was made for {described[0]}, expected {described[1]} (map again)")


class _Record(Record):
    """The fields of a file; every method checks the type and range of the field that it returns."""

    def bad(self, field: str, expected: str) -> FormatError:
        found = json.dumps(self.fields[field], default=str)[:60] if field in self.fields else "missing"
        return self.fail(f"{field} is {found}, expected {expected}")

    def value(self, field: str, kind: type[T], expected: str) -> T:
        value = self.fields.get(field)
        if not isinstance(value, kind):
            raise self.bad(field, expected)
        return value

    def texts(self, field: str) -> list[str]:
        value = self.fields.get(field)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.bad(field, "a list of texts")
        return value

    def numbers(self, field: str, dtype: Any) -> Any:
        limits = np.iinfo(dtype)
        return self.integers(self.fields.get(field), field, limits.min, limits.max).astype(dtype)

    def of_slots(self, field: str, dtype: Any, count: int) -> Any:
        if self.fields.get(field) is None:
            return None
        numbers = self.numbers(field, dtype)
        if len(numbers) != count:
            raise self.bad(field, f"one number for each of {count} slots")
        return numbers

    def machine(self, path: str | None) -> Machine:
        spec = self.value("machine", str, "a text")
        try:
            with named_in(path):
                return parse_machine(spec)
        except HopbytesError as error:
            missing = re.search("no such file|cannot be read|is named in a file of", str(error))
            hint = " (if the machine's file was moved, give its new path with `where`)" if missing else ""
            raise self.fail(f"machine: {error}{hint}") from None

    def allocation(self, machine: Machine) -> Allocation:
        slots = self._slots(machine.n_cores)
        starts = np.cumsum([0, *map(len, slots)]).astype(np.int64)
        return Allocation(
            machine, starts, np.concatenate(slots), tuple(self.texts("hosts")),
            capacity=self.of_slots("capacity", np.int64, len(slots)),
            endpoints=self.of_slots("endpoints", np.int32, len(slots)),
            gpus=self.of_slots("gpus", np.int32, len(slots)),
        ).in_use()

    def _slots(self, n_cores: int) -> list[Int64]:
        slots: list[Int64] = []
        total, last = 0, -1
        for text in self.texts("slots"):
            runs = [number_range(word, 18) for word in text.split(",")]
            inside = [run for run in runs if run is not None and run.stop <= n_cores]
            if len(inside) < len(runs):
                raise self.fail(f"slot {text[:40]!r}, expected cores of 0..{n_cores - 1} like 0-3,6")
            cores = np.concatenate([np.array(run, np.int64) for run in inside])
            total += len(cores)
            # This also prevents a small file from allocating memory for more cores than the machine has.
            if total > n_cores or int(cores[0]) <= last:
                raise self.fail(f"slot {text[:40]!r}, expected slots in ascending order without repetition")
            last = int(cores[0])
            slots.append(cores)
        if not slots:
            raise self.bad("slots", "at least one")
        return slots


def machine_sha256(where: Allocation) -> str:
    """Return the hash of levels, distances, routes, nodes and the cores of every slot."""
    # These determine the cost of a mapping. Names of files and hosts are not hashed, so the same machine
    # described by two files has one hash. O(k + size of the arrays that store the routes).
    levels = ";".join(f"{level.name}@{level.distance}" for level in where.machine.levels)
    return digest(
        np.frombuffer(levels.encode(), np.uint8), where.node_of_pe, where.core_start, where.cores,
        where.capacity, *_distances(where.distance), *_routes(where),
    )


def _distances(distance: Distance) -> tuple[Any, ...]:
    if isinstance(distance, TreeDistance):
        return distance.labels, distance.bit_costs
    if isinstance(distance, TableDistance):
        return (distance.table,)
    numbers = np.array([distance.inside_bits, distance.per_hop], np.int64)
    return distance.labels, distance.inside_costs, numbers, distance.endpoint


def _routes(where: Allocation) -> tuple[Any, ...]:
    network = where.machine.network()
    if network is None:
        return ()
    kind, *arrays = network.form.arguments
    return np.array([kind], np.int64), *arrays, network.capacity, where.endpoints
