"""Placement formats: what is written says the same as the mapping, and bad input is refused by name."""

import json
import os
import re
import shlex

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hopbytes as hb
from helpers.placements import cores_in_node, expand, mappings, place, read, read_rankfile, write
from helpers.strategies import graphs
from hopbytes.cost.metrics.placement import measure
from hopbytes.errors import FormatError, HopbytesError, InfeasibleError, UnsupportedError
from hopbytes.formats.base import formats
from hopbytes.formats.mappings.launch_files import number_list
from hopbytes.formats.mappings.mapping_json import check_same_machine
from hopbytes.formats.mappings.slot_symmetry import renumbered
from hopbytes.machines.spec import parse_machine
from hopbytes.model.allocation import Allocation
from hopbytes.model.comm_graph import CommGraph
from hopbytes.model.mapping import Mapping

LAUNCHERS = ("openmpi", "slurm")


@given(st.sets(st.integers(0, 40), min_size=1))
def test_number_lists_come_back(numbers):
    ascending = sorted(numbers)
    assert expand(number_list(tuple(ascending))) == ascending


# ---------------------------------------------------------------- plain


@given(mappings())
@settings(deadline=None, max_examples=50)
def test_plain_comes_back(mapping):
    text = write("plain", mapping).files[""]
    assert np.array_equal(read("plain", text), mapping.pe)
    again = read("plain", text, where=mapping.where, n=mapping.n)
    assert np.array_equal(again.pe, mapping.pe)
    assert again.where is mapping.where


def test_plain_skips_comments_and_blank_lines_and_takes_any_line_end():
    assert read("plain", "# a\n% b\n\n0\r\n 2 \n1").tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0\n1\nx\n", "file:3: 'x', expected the number of a PE"),
        ("0\n-1\n", "file:2: '-1', expected the number of a PE"),
        ("0\n1.5\n", "file:2: '1.5', expected the number of a PE"),
        ("0\n1 2\n3\n", "file:2: '1 2', expected the number of a PE"),
        ("0 1\n\n2\n", "file:1: '0 1', expected the number of a PE"),
        ("0\n9\n1\n", "file:2: PE 9, expected one of 0..3"),
        ("0\n99999999999999999999\n", "file:2: '99999999999999999999', expected the number of a PE"),
        ("0\n1\n", "file: 2 lines with a PE, expected 3, one for each task"),
        ("# nothing\n", "file: 0 lines with a PE, expected 3, one for each task"),
        (b"\x00\xff\n", "file:1: '\\x00\\\\xff', expected the number of a PE"),
    ],
)
def test_plain_names_the_bad_line(text, message):
    where = Allocation.whole(parse_machine("core:4"))
    with pytest.raises(FormatError) as caught:
        read("plain", text, where=where, n=3)
    assert str(caught.value) == message


@given(st.binary(max_size=200))
def test_plain_never_fails_in_another_way(data):
    try:
        pe = read("plain", data)
    except FormatError:
        return
    assert pe.dtype == np.int32


# ---------------------------------------------------------------- json


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
    where = hb.machine("table:square")
    hb.write(Mapping(np.array([1, 0], np.int32), where), "../stored.json")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError, match=r"square: no such file.*--on says where its file is now"):
        hb.read("stored.json")
    assert hb.read("stored.json", where=hb.machine("table:m/square")).pe.tolist() == [1, 0]


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
        ({"version": 2}, "reads up to 1"),
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
        ({"slots": ["0", "0", "1", "2"]}, "expected slots in order, none twice"),
        ({"slots": ["0-3", "1-3", "2-3", "3"]}, "expected slots in order, none twice"),
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


# ---------------------------------------------------------------- openmpi


@given(mappings())
@settings(deadline=None, max_examples=100)
def test_rankfile_says_what_the_mapping_says(mapping):
    written = write("openmpi", mapping)
    ranks, slots = read_rankfile(written)
    assert len(ranks) == mapping.n
    names = list(slots) if not mapping.where.hosts else mapping.where.hosts
    for task, (host, cores) in enumerate(ranks):
        node, expected = cores_in_node(mapping, task)
        assert cores == expected
        assert host == (names[node] if len(names) > 1 or mapping.where.hosts else "localhost")
    tasks = np.bincount(mapping.where.node_of_pe[mapping.pe])
    assert all(slots[host] >= count for host, count in zip(names, tasks.tolist(), strict=False) if count)
    assert f"-n {mapping.n} " in written.launch


def test_ranks_of_several_cores_get_as_many_threads():
    written = write("openmpi", place("core:4", [1, 0], cores_per_slot=2))
    assert written.launch.endswith(" -x OMP_NUM_THREADS=2 -x OMP_PLACES=cores ./app")
    uneven = hb.machine("l3:2 core:[1,2]", per="l3")
    written = write("openmpi", Mapping(np.array([1, 0], np.int32), uneven))
    assert written.launch.endswith("rankfile:file={stem} sh {stem}.place.sh ./app")
    assert "0) cores=1-2 threads=2 ;;" in written.files[".place.sh"]


def test_two_ranks_on_a_core_need_leave_to_overload():
    twice = place("node:2@10 core:2@1", [0, 0, 1, 2], problem="processes", hosts=("a", "b"))
    written = write("openmpi", twice)
    assert "--bind-to :overload-allowed" in written.launch
    assert read_rankfile(written)[1] == {"a": 3, "b": 2}
    assert "--overcommit" in write("slurm", twice).launch
    assert "overload" not in write("openmpi", place("core:2", [0, 1])).launch


def test_hardware_threads_are_said_to_be_such():
    written = write("openmpi", place("core:2@2 pu:2@1", [0, 3, 1, 2]))
    assert "rankfile:file={stem}:hwtcpus" in written.launch
    assert "more ranks than cores" in written.notices[1]
    assert len(write("openmpi", place("core:2@2 pu:2@1", [0, 3])).notices) == 1


# ---------------------------------------------------------------- slurm


def slurm_binding(written, mapping):
    """Return host and cores of every rank, from the command and files alone."""
    hosts = [line for line in written.files[""].splitlines() if not line.startswith("#")]
    if ".place.sh" in written.files:
        case = re.compile(r"^(\d+)\) cores=([\d,-]+) threads=(\d+)", re.MULTILINE)
        found = case.findall(written.files[".place.sh"])
        cores = [expand(text) for _, text, _ in found]
        assert [int(rank) for rank, *_ in found] == list(range(mapping.n))
        assert [int(threads) for *_, threads in found] == [len(own) for own in cores]
        return list(zip(hosts, cores, strict=True))
    kind, items = re.search(r"--cpu-bind=(map_cpu|mask_cpu):(\S+)", written.launch).groups()
    if kind == "map_cpu":
        lists = [[int(item)] for item in items.split(",")]
    else:
        lists = [[bit for bit in range(64) if int(item, 16) >> bit & 1] for item in items.split(",")]
    local = [hosts[:rank].count(host) for rank, host in enumerate(hosts)]
    return [(host, lists[place]) for host, place in zip(hosts, local, strict=True)]


@given(mappings(), st.data())
@settings(deadline=None, max_examples=100)
def test_slurm_binding_costs_the_same_as_the_mapping(mapping, data):
    """Slots may have been renumbered: rank → slot is read back, and every metric must be unchanged."""
    written = write("slurm", mapping)
    where, hosts = mapping.where, mapping.where.hosts
    nodes = [cores_in_node(mapping, task)[0] for task in range(mapping.n)]
    node_of_core = where.machine.node_of_core().tolist()
    pe_of_cores = {tuple(where.cores_of(pe).tolist()): pe for pe in range(where.k)}
    pe = []
    for task, (host, cores) in enumerate(slurm_binding(written, mapping)):
        if hosts:
            assert host == hosts[nodes[task]]
        first = node_of_core.index(nodes[task])
        pe.append(pe_of_cores[tuple(first + core for core in cores)])
    graph = data.draw(graphs(n=mapping.n))
    assert len(set(pe)) == mapping.n
    assert measure(graph, where, np.array(pe, np.int32)) == measure(graph, where, mapping.pe)


@given(mappings())
@settings(deadline=None, max_examples=100)
def test_renumbering_changes_no_distance(mapping):
    if mapping.n < 2:
        return
    distance, after = mapping.where.distance.matrix(), renumbered(mapping)
    assert np.array_equal(distance[np.ix_(mapping.pe, mapping.pe)], distance[np.ix_(after, after)])


def test_renumbering_makes_alike_nodes_equal():
    """Both nodes hold the pairs (first, third) and (second, fourth) of their ranks, on different slots."""
    mapping = place("node:2@10 package:2@3 core:2@1", [2, 0, 3, 1, 5, 7, 4, 6], hosts=("a", "b"))
    written = write("slurm", mapping)
    assert "--cpu-bind=map_cpu:0,2,1,3 " in written.launch
    assert list(written.files) == [""]


def test_nodes_that_group_ranks_differently_get_a_script():
    """Node a pairs its ranks (0,1)(2,3), node b pairs (0,2)(1,3): no renumbering makes one list of both."""
    mapping = place("node:2@10 package:2@3 core:2@1", [0, 1, 2, 3, 4, 6, 5, 7], hosts=("a", "b"))
    written = write("slurm", mapping)
    assert written.executable == (".place.sh",)
    assert "--cpu-bind=none sh {stem}.place.sh ./app" in written.launch
    assert slurm_binding(written, mapping)[5] == ("b", [2])


def test_slots_of_several_cores_become_masks_and_threads():
    mapping = place("node:1 package:2@3 core:4@1", [3, 0, 1, 2], cores_per_slot=2, hosts=("a",))
    launch = write("slurm", mapping).launch
    assert launch.startswith("SLURM_HOSTFILE={stem} OMP_NUM_THREADS=2 OMP_PLACES=cores srun -n 4 -N 1 ")
    assert "--cpus-per-task" not in launch  # see the writer: partly used nodes could not be bound
    assert "--cpu-bind=mask_cpu:0xc0,0x3,0xc,0x30 " in launch


# ---------------------------------------------------------------- newrank


@given(mappings(), st.sampled_from(["block", "cyclic"]))
@settings(deadline=None, max_examples=100)
def test_newrank_brings_every_task_to_its_slot(mapping, launched):
    """Start ranks as the launcher would, renumber them, and find every task where the mapping wants it."""
    lines = write("newrank", mapping, launched=launched).files[""].splitlines()
    new = [int(line) for line in lines[: mapping.n]]
    assert sorted(new) == list(range(mapping.n))
    node = mapping.where.node_of_pe
    free = sorted(mapping.pe.tolist())
    started = []
    if launched == "block":
        started = free
    while free and launched == "cyclic":  # every node takes one rank a round, while it has slots
        for unit in sorted({int(node[pe]) for pe in free}):
            pe = next(pe for pe in free if node[pe] == unit)
            started.append(pe)
            free.remove(pe)
    for old, pe in enumerate(started):
        assert mapping.pe[new[old]] == pe


def test_newrank_takes_the_real_start_from_a_file(tmp_path):
    started = tmp_path / "started.txt"
    started.write_text("3\n2\n1\n0\n")
    mapping = place("core:4", [1, 3, 0, 2])
    assert write("newrank", mapping, launched=str(started)).files[""].splitlines()[:4] == ["1", "3", "0", "2"]
    started.write_text("3\n3\n1\n0\n")
    with pytest.raises(FormatError, match="0 ranks on PE 2, expected 1 as in the mapping"):
        write("newrank", mapping, launched=str(started))
    with pytest.raises(FormatError, match="No such file"):
        write("newrank", mapping, launched=str(tmp_path / "none"))
    if os.path.exists("/dev/zero"):  # without end
        with pytest.raises(FormatError, match="expected no more"):
            write("newrank", mapping, launched="/dev/zero")


# ---------------------------------------------------------------- all launch formats


@pytest.mark.parametrize("name", [*LAUNCHERS, "newrank"])
def test_more_tasks_than_slots_name_both_numbers(name):
    with pytest.raises(InfeasibleError, match=r"5 tasks on 4 slots, 2 of them on slot 3"):
        write(name, place("core:4", [0, 1, 2, 3, 3]))
    write(name, place("core:4", [0, 1, 2, 3, 3]), oversubscribe=True)
    with pytest.raises(InfeasibleError, match="no task to launch"):
        write(name, place("core:4", []))


@pytest.mark.parametrize("name", LAUNCHERS)
@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (("a",), "1 host names for 2 nodes"),
        (("a", "a"), "host name a twice"),
        (("a", "b;rm -rf"), "host name 'b;rm -rf', expected letters"),
        (("a", "-b"), "host name '-b'"),
        (("a", "b\n"), r"host name 'b\\n'"),
        (("a", ""), "host name ''"),
    ],
)
def test_host_names_are_checked(name, hosts, message):
    with pytest.raises(HopbytesError, match=message):
        write(name, place("node:2@10 core:2@1", [0, 2]), hosts=hosts)


@pytest.mark.parametrize("name", ["openmpi", "slurm"])
def test_a_strange_file_name_stays_one_word(name, tmp_path):
    """The command is a line of shell: whatever the file is called, it must not become more than a name."""
    import hopbytes as hb

    path = str(tmp_path / "a b$(c)'d")
    receipt = hb.write(place("node:2@10 core:2@1", [0, 2, 1, 3], hosts=("a", "b")), path, name)
    words = [word.split("=", 1)[-1] for word in shlex.split(receipt.launch)]
    assert path in words or f"file={path}" in words
    assert "{stem}" not in " ".join([receipt.launch, *receipt.notices])


def test_the_command_names_a_file_whatever_the_name(tmp_path, monkeypatch):
    import hopbytes as hb

    monkeypatch.chdir(tmp_path)
    mapping = place("node:2@10 core:2@1", [0, 2, 1, 3], hosts=("a", "b"))
    assert "SLURM_HOSTFILE=./-x " in hb.write(mapping, "-x", "slurm").launch
    assert "SLURM_HOSTFILE=FILE " in hb.write(mapping, "-", "slurm").launch


def test_what_cannot_be_written_is_known_before_the_work(tmp_path):
    from hopbytes.formats.exchange import check_target

    with pytest.raises(UnsupportedError, match="'openmpi' needs several files"):
        check_target("-", "openmpi", holds="placement")
    with pytest.raises(UnsupportedError, match="a folder, expected a file name"):
        check_target(tmp_path, "json", holds="placement")
    check_target("-", "slurm", holds="placement")


def test_every_placement_format_is_registered_with_a_sentence():
    placements = {name: form for name, form in formats.items() if form.holds == "placement"}
    assert set(placements) >= {"plain", "json", "openmpi", "slurm", "newrank"}
    assert all(form.summary for form in placements.values())
