"""json: a mapping with everything that is needed to use it again: machine, slots, hosts, hashes, metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping as Dictionary
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats.base import MARK, TRACE, Capabilities, Format, Source, Written, formats
from hopbytes.formats.fingerprint import machine_sha256, pattern_sha256
from hopbytes.formats.mappings.launch_files import number_list
from hopbytes.machines.base import Machine
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation
from hopbytes.model.mapping import Mapping
from hopbytes.text.open_input import named_in
from hopbytes.util.quantities import plain_value

KIND = "hopbytes mapping"
VERSION = 1


class Json(Format):
    """A stored mapping: map once, launch often (``hopbytes write MAPPING.json --format F``)."""

    holds = "mapping"
    suffixes = (".json",)
    summary = "mapping with machine, slots, hosts, hashes and metrics"
    capabilities = Capabilities(
        any_host_order=True, scattered_ranks=True, per_rank_cores=True, per_node_cores=True,
        several_cores_per_rank=True, unequal_nodes=True, gpus=True,
    )

    def write_mapping(self, mapping: Mapping, options: Dictionary[str, Any]) -> Written:
        """Return one JSON object; the array of PEs is its last field.

        Options: `graph`, the pattern, whose hash is then stored; `metrics`, a dictionary that is stored
        unchanged (such as ``Evaluation.to_dict()``).
        """
        where, graph = mapping.where, options.get("graph")
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
            "slots": [number_list(tuple(where.cores_of(pe).tolist())) for pe in range(where.k)],
            "capacity": None if where.capacity is None else where.capacity.tolist(),
            "endpoints": None if where.endpoints is None else where.endpoints.tolist(),
            "gpus": None if where.gpus is None else where.gpus.tolist(),
            "info": dict(mapping.info) | _programs(graph),
            "metrics": options.get("metrics"),
            "pe": mapping.pe.tolist(),
        }
        lines = [f"{json.dumps(k)}: {json.dumps(value, default=plain_value)}" for k, value in record.items()]
        return Written({"": "{\n" + ",\n".join(lines) + "\n}\n"})

    def read(self, source: Source) -> Mapping:
        """Return the mapping with the allocation for which it was made.

        Options: `where`, the Allocation on which it will be used, which must be the same machine; `n`, the
        expected number of tasks; `graph`, which must be the same pattern, or a trace of as many tasks.
        """
        record = _Record(source.name, _parse(source))
        n, where, graph = (source.options.get(key) for key in ("n", "where", "graph"))
        # The given machine replaces an equal stored one, whose file may have been moved since then.
        if where is not None and record.fields.get("machine_sha256") == machine_sha256(where):
            made_for = record.allocation(where.machine)
        else:
            made_for = record.allocation(record.machine(source.path))
        try:
            mapping = Mapping(record.integers("pe", np.int32), made_for, record.info())
        except FormatError as error:
            raise FormatError(source.name, error.line, error.what) from None
        _check_sizes(record, mapping)
        if n is not None and mapping.n != n:
            raise FormatError(source.name, None, f"a mapping of {mapping.n} tasks, expected {n}")
        if where is not None:
            check_same_machine(mapping, where, source.name)
        stored = record.fields.get("pattern_sha256")
        if graph is not None and stored is not None and stored != pattern_sha256(graph):
            if graph.meta.get(TRACE) is not None and graph.n == mapping.n:
                # A recording's pattern has the messages of its collectives, its trace the calls.
                return Mapping(mapping.pe, mapping.where, {**mapping.info, "other_pattern": True})
            raise UnsupportedError(
                f"{source.name}: the mapping was made for another pattern, expected {graph.name} (map again)"
            )
        return mapping

    def sniff(self, name: str, head: bytes) -> bool:
        """Tell whether the file is a JSON object with the kind of a stored mapping."""
        return head.lstrip().startswith(b"{") and KIND.encode() in head


formats.register("json")(Json())


def _programs(graph: Any) -> dict[str, Any]:
    """Return the programs of a pattern, so that launch files can be written from the mapping alone."""
    found = None if graph is None else graph.meta.get("programs")
    return {} if found is None else {"programs": found}


def check_same_machine(mapping: Mapping, where: Allocation, name: str = "mapping") -> None:
    """Raise UnsupportedError if a mapping was made for other slots, distances or nodes than `where`."""
    if machine_sha256(mapping.where) != machine_sha256(where):
        raise UnsupportedError(
            f"{name}: was made for {_describe(mapping.where)}, expected {_describe(where)} (map again)"
        )


def _describe(where: Allocation) -> str:
    return f"{where.k} slots with {len(where.cores)} cores of '{where.machine.spec()}'"


class _Record:
    """The fields of a parsed file; every method checks the type and range of the field that it returns."""

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.name, self.fields = name, fields

    def bad(self, field: str, expected: str) -> FormatError:
        found = json.dumps(self.fields[field], default=str)[:60] if field in self.fields else "missing"
        return FormatError(self.name, None, f"{field} is {found}, expected {expected}")

    def text(self, field: str) -> str:
        value = self.fields.get(field)
        if not isinstance(value, str):
            raise self.bad(field, "a text")
        return value

    def texts(self, field: str) -> list[str]:
        value = self.fields.get(field)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.bad(field, "a list of texts")
        return value

    def integers(self, field: str, dtype: Any) -> Any:
        value = self.fields.get(field)
        try:
            array = np.array(value if isinstance(value, list) else None)
        except ValueError:  # lists of unequal length inside
            raise self.bad(field, "a list of integers") from None
        if array.ndim != 1 or (array.size and array.dtype.kind != "i"):
            raise self.bad(field, "a list of integers")
        limits = np.iinfo(dtype)
        if array.size and not limits.min <= int(array.min()) <= int(array.max()) <= limits.max:
            raise self.bad(field, f"integers of {limits.bits} bits")
        return array.astype(dtype)

    def info(self) -> dict[str, Any]:
        value = self.fields.get("info")
        if not isinstance(value, dict):
            raise self.bad("info", "an object")
        return value

    def allocation(self, machine: Machine) -> Allocation:
        slots = self._slots(machine.n_cores)
        starts = np.cumsum([0, *map(len, slots)]).astype(np.int64)
        return Allocation(
            machine, starts, np.concatenate(slots), tuple(self.texts("hosts")),
            capacity=self._per_slot("capacity", np.int64, len(slots)),
            endpoints=self._per_slot("endpoints", np.int32, len(slots)),
            gpus=self._per_slot("gpus", np.int32, len(slots)),
        ).in_use()

    def machine(self, path: str | None) -> Machine:
        try:
            with named_in(path):
                return parse_machine(self.text("machine"))
        except HopbytesError as error:
            missing = re.search("no such file|cannot be read|is named in a file of", str(error))
            hint = " (if the machine's file was moved, give its new path with `where`)" if missing else ""
            raise FormatError(self.name, None, f"machine: {error}{hint}") from None

    def _per_slot(self, field: str, dtype: Any, count: int) -> Any:
        if self.fields.get(field) is None:
            return None
        numbers = self.integers(field, dtype)
        if len(numbers) != count:
            raise self.bad(field, f"one number for each of {count} slots")
        return numbers

    def _slots(self, n_cores: int) -> list[Int64]:
        slots: list[Int64] = []
        total, last = 0, -1
        for text in self.texts("slots"):
            cores = self._cores(text, n_cores)
            total += len(cores)
            # This also prevents a small file from allocating memory for more cores than the machine has.
            if total > n_cores or int(cores[0]) <= last:
                what = f"slot {text[:40]!r}, expected slots in ascending order without repetition"
                raise FormatError(self.name, None, what)
            last = int(cores[0])
            slots.append(cores)
        if not slots:
            raise self.bad("slots", "at least one")
        return slots

    def _cores(self, text: str, n_cores: int) -> Int64:
        """Parse ``0-3,6``."""
        runs = []
        for run in text.split(","):
            first, _, last = run.partition("-")
            if not first.isdecimal() or not (last or first).isdecimal() or len(run) > 40:
                raise FormatError(self.name, None, f"slot {text[:40]!r}, expected cores like 0-3,6")
            low, high = int(first), int(last or first)
            if not low <= high < n_cores:
                raise FormatError(self.name, None, f"slot {text[:40]!r}, expected cores of 0..{n_cores - 1}")
            runs.append(np.arange(low, high + 1, dtype=np.int64))
        return np.concatenate(runs)


def _parse(source: Source) -> dict[str, Any]:
    text = source.text()
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg}, expected a stored mapping"
        raise FormatError(source.name, error.lineno, what) from None
    except (RecursionError, ValueError):  # too deeply nested, or a number with too many digits
        raise FormatError(source.name, None, "not readable as JSON, expected a stored mapping") from None
    if not isinstance(value, dict) or value.get("kind") != KIND:
        raise FormatError(source.name, None, f'no "kind": "{KIND}", expected a stored mapping')
    version = value.get("version")
    if not isinstance(version, int) or version < 1:
        raise FormatError(source.name, None, f"version {str(version)[:20]}, expected {VERSION}")
    if version > VERSION:
        raise UnsupportedError(f"{source.name}: version {version}, expected at most version {VERSION}")
    return value


def _check_sizes(record: _Record, mapping: Mapping) -> None:
    for field, found in (("n", mapping.n), ("k", mapping.where.k)):
        if record.fields.get(field) != found:
            raise record.bad(field, f"{found}, the number of entries in the list")
    if record.text("machine_sha256") != machine_sha256(mapping.where):
        what = (
            "machine and slots do not match machine_sha256, expected an unedited file and an unchanged "
            "machine file"
        )
        raise FormatError(record.name, None, what)
