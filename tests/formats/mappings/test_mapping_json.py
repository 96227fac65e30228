"""Mappings stored as JSON: what is written comes back, and bad input is refused by the field's name."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.placements import mappings, place, read, write
from hopbytes.errors import FormatError, HopbytesError, UnsupportedError
from hopbytes.formats.mappings.stored import check_same_machine
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping


@given(mappings())
@settings(deadline=None, max_examples=50)
def test_json_rebuilds_mapping_and_allocation(mapping):
    graph = CommGraph.from_edges([0], [mapping.n - 1], n=mapping.n)
    text = write("json", mapping, graph=graph, metrics={"comm_cost": 7}).files[""]
    again = read("json", text, graph=graph, where=mapping.where, n=mapping.n)
    assert np.array_equal(again.pe, mapping.pe)
    assert again.info == mapping.info
    assert again.where.hosts == mapping.where.hosts
    assert np.array_equal(again.where.core_start, mapping.where.core_start)
    assert np.array_equal(again.where.cores, mapping.where.cores)
    assert again.where.machine.spec() == mapping.where.machine.spec()
    record = json.loads(text)
    assert (record["n"], record["k"], record["metrics"]) == (mapping.n, mapping.where.k, {"comm_cost": 7})


def test_json_is_read_where_the_machines_file_is_elsewhere(tmp_path, monkeypatch):
    (tmp_path / "m").mkdir()
    (tmp_path / "m/square").write_text("0 1\n1 0\n")
    monkeypatch.chdir(tmp_path / "m")
    where = hb.allocate("table:square")
    hb.write(Mapping(np.array([1, 0], np.int32), where), "../stored.json")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match=r"square: no such file.*`where`"):
        hb.read("stored.json")
    assert hb.read("stored.json", where=hb.allocate("table:m/square")).pe.tolist() == [1, 0]


def test_json_keeps_capacities():
    whole = Allocation.whole(parse_machine("core:2"))
    where = Allocation(whole.machine, whole.core_start, whole.cores, capacity=np.array([1, 3], np.int64))
    again = read("json", write("json", Mapping(np.array([1], np.int32), where)).files[""])
    assert again.where.capacity.tolist() == [1, 3]
    with pytest.raises(UnsupportedError):
        check_same_machine(again, whole)


def test_json_for_another_machine_or_pattern_is_refused():
    mapping = place("node:2@10 core:2@1", [0, 2])
    graph = CommGraph.from_edges([0], [1], [5])
    text = write("json", mapping, graph=graph).files[""]
    other = Allocation.whole(parse_machine("node:2@20 core:2@1"))
    with pytest.raises(UnsupportedError, match=r"4 slots with 4 cores of 'node:2@10 core:2@1'.*'node:2@20"):
        read("json", text, where=other)
    with pytest.raises(UnsupportedError, match="2 slots with 4 cores"):
        read("json", text, where=place("node:2@10 core:2@1", [0], cores_per_slot=2).where)
    with pytest.raises(UnsupportedError, match="another pattern"):
        read("json", text, graph=CommGraph.from_edges([0], [1], [6]))
    with pytest.raises(FormatError, match="2 tasks, expected 3"):
        read("json", text, n=3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "x"}, 'no "kind"'),
        ({"version": "1"}, "version 1, expected 1"),
        ({"version": 2}, "expected at most version 1"),
        ({"n": 3}, "n is 3, expected 2"),
        ({"k": 3}, "k is 3, expected 4"),
        ({"pe": [0, 1.5]}, "pe is .*expected a list of integers"),
        ({"pe": [0, 2**70]}, "pe is .*expected a list of integers"),
        ({"pe": [0, 2**40]}, "expected integers of 32 bits"),
        ({"pe": [0, [1]]}, "expected a list of integers"),
        ({"pe": [0, 4]}, "file: task 1 is on PE 4, expected 0..3"),
        ({"pe": None}, "pe is null"),
        ({"machine": "node:0"}, "machine: "),
        ({"machine": 5}, "machine is 5, expected a text"),
        ({"machine": "node:2@10 core:2@2"}, "do not match machine_sha256"),
        ({"machine": "/etc/passwd"}, "machine: "),
        ({"slots": []}, "slots is .*expected at least one"),
        ({"slots": ["0", "0", "1", "2"]}, "expected slots in ascending order"),
        ({"slots": ["0-3", "1-3", "2-3", "3"]}, "expected slots in ascending order"),
        ({"slots": ["0", "1", "2", "99"]}, "expected cores of 0..3"),
        ({"slots": ["0", "1", "2", "x"]}, "expected cores like 0-3,6"),
        ({"slots": ["0", "1", "2", "3" * 5000]}, "expected cores like 0-3,6"),
        ({"hosts": [1]}, "hosts is .*expected a list of texts"),
        ({"info": []}, "info is .*expected an object"),
        ({"capacity": [1]}, "expected one number for each of 4 slots"),
    ],
)
def test_json_names_what_is_wrong(change, message):
    record = json.loads(write("json", place("node:2@10 core:2@1", [0, 2])).files[""])
    with pytest.raises(HopbytesError, match=message) as caught:
        read("json", json.dumps({**record, **change}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100000, "null", "9" * 5000, '{"kind": "hopbytes mapping"'])
def test_json_that_is_none_is_refused(text):
    with pytest.raises(FormatError, match="file"):
        read("json", text)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just("0-3"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)
FIELDS = ("version", "n", "k", "machine", "slots", "capacity", "endpoints", "info", "pe", "hosts")


@given(st.sampled_from(FIELDS), values)
@settings(deadline=None)
def test_json_with_any_value_in_a_field_is_read_or_refused(field, value):
    record = json.loads(write("json", place("node:2@10 core:2@1", [0, 2])).files[""])
    record[field] = value
    said = ""
    try:
        assert read("json", json.dumps(record)).n == 2
    except HopbytesError as error:
        said = str(error)
    assert "\n" not in said


def test_json_missing_fields_are_named():
    record = json.loads(write("json", place("core:2", [0, 1])).files[""])
    for field in ("machine", "slots", "pe", "n", "k", "machine_sha256", "info", "hosts"):
        short = {key: value for key, value in record.items() if key != field}
        with pytest.raises(FormatError, match=f"{field} is missing"):
            read("json", json.dumps(short))
