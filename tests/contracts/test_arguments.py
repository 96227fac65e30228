"""Arguments of a wrong kind: public functions name them in one line of our own, whatever was given."""

import contextlib
import inspect
import pickle

import numpy as np
import pytest

import hopbytes as hb
from hopbytes.errors import HopbytesError

GRAPH = hb.CommGraph.from_edges([0, 1, 2], [1, 2, 3], [5, 5, 5])
WHERE = hb.allocate("node:2@10 core:2@1")
MAPPING = hb.map_tasks(GRAPH, WHERE, "identity")


def said(call) -> str:
    with pytest.raises(HopbytesError) as error:
        call()
    assert "\n" not in str(error.value)
    assert str(pickle.loads(pickle.dumps(error.value))) == str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"progress": "x"}, "progress 'x', expected a function"),
        ({"threads": True}, "threads True, expected an integer >= 1"),
        ({"partition": "yes"}, "partition 'yes', expected True or False"),
    ],
)
def test_map_tasks(options, what):
    assert what in said(lambda: hb.map_tasks(GRAPH, WHERE, **{"method": "identity", **options}))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"forbidden": 3}, "forbidden: 3, expected pairs of a task and a PE"),
        ({"forbidden": np.array(3)}, "forbidden: expected pairs of a task and a PE"),
        ({"forbidden": [(0, 1), (2,)]}, "forbidden: lists of unequal length, expected integers"),
        ({"forbidden": "ab"}, "forbidden: numbers of type <U1, expected integers"),
        ({"fixed": [1, [2]]}, "fixed: lists of unequal length, expected integers"),
        ({"fixed": {0: (1, 2)}}, "fixed: lists of unequal length, expected integers"),
        ({"initial": [0, [1]]}, "initial: lists of unequal length, expected integers"),
        ({"strict": 1}, "strict 1, expected True or False"),
    ],
)
def test_constraints(options, what):
    assert what in said(lambda: hb.map_tasks(GRAPH, WHERE, constraints=hb.Constraints(**options)))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"tasks_per": 3}, "`tasks_per`: 3, expected LEVEL=COUNT like l3=2"),
        ({"tasks_per": {3: 2}}, "unknown level 3 (known: core, node)"),
        ({"tasks_per": {"node": "x"}}, "`tasks_per`: node=x, expected a count >= 1"),
        ({"tasks_per_node": "3"}, "tasks_per_node '3', expected an integer >= 1"),
        ({"pack": 1}, "pack 1, expected True or False"),
        ({"pack": True, "spread": True}, "pack and spread exclude each other"),
        ({"exclude": "core=0"}, "an Allocation has its slots already"),
    ],
)
def test_use_of_slots(options, what):
    assert what in said(lambda: hb.map_tasks(GRAPH, hb.allocate(WHERE, **options), "identity"))


def test_limits():
    assert "stop 3, expected a function" in said(lambda: hb.Limits(stop=3))


def test_nothing_forbidden_may_be_said_in_any_way():
    for nothing in ([], (), {}, np.empty((0, 2)), iter([])):
        assert hb.map_tasks(
            GRAPH, WHERE, "identity", constraints=hb.Constraints(forbidden=nothing)
        ).pe.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda path: hb.write(MAPPING, path, host=["a"]), "unknown option 'host', did you mean 'hosts'?"),
        (lambda path: hb.read(path, colectives="ring"), "did you mean 'collectives'?"),
        (lambda path: hb.write(None, path), "a NoneType to write, expected a CommGraph or a Mapping"),
        (lambda path: hb.write(MAPPING.pe, path), "a ndarray to write, expected a CommGraph or a Mapping"),
        (lambda path: hb.write(GRAPH, 3), "a file name of type int, expected text or a path"),
        (lambda path: hb.write(GRAPH, path.encode()), "a file name of type bytes, expected text or a path"),
        (lambda path: hb.write(GRAPH, "a\0.pattern"), "'a\\x00.pattern': not a file name"),
        (lambda path: hb.write(GRAPH, path, 3), "unknown format 3 (known: "),
        (lambda path: hb.read(path.encode()), "a file name of type bytes, expected text or a path"),
        (lambda path: hb.read(None), "a file name of type NoneType, expected text or a path"),
        (lambda path: hb.read(path, 3), "unknown format 3 (known: "),
        (lambda path: hb.read(path, ["csv"]), "unknown format ['csv'] (known: "),
        (lambda path: hb.read(path, holds="grap"), "unknown content 'grap' (known: mapping, pattern)"),
        (lambda path: hb.read(path, max_bytes="1G"), "max_bytes '1G', expected an integer >= 1"),
        (lambda path: hb.convert(path, 3), "a file name of type int, expected text or a path"),
        (lambda path: hb.read(path, where=3), "the machine is a int, expected an Allocation"),
        (lambda path: hb.read(path, graph=3), "the pattern is a int, expected a CommGraph"),
        (lambda path: hb.read(path, n="4"), "n '4', expected an integer >= 0"),
        (lambda path: hb.read(path, threads=2), "threads 2, expected True or False"),
        (lambda path: hb.write(MAPPING, path, "slurm", hosts=3), "hosts 3, expected a text or several texts"),
        (lambda path: hb.write(MAPPING, path, "slurm", allowed=3), "allowed 3, expected a text"),
        (lambda path: hb.write(MAPPING, path, "json", metrics=3), "metrics 3, expected a dictionary"),
        (lambda path: hb.write(MAPPING, path, "json", oversubscribe=3), "oversubscribe 3, expected True"),
        (lambda path: hb.write(MAPPING, path, "json", graph="stencil:3x3"), "expected a pattern of as many"),
    ],
)
def test_read_and_write(tmp_path, call, what):
    path = tmp_path / "ring.pattern"
    hb.write(GRAPH, path)
    before = path.read_bytes()
    assert what in said(lambda: call(str(path)))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: hb.evaluate(None, MAPPING), "the pattern is a NoneType, expected a CommGraph"),
        (lambda: hb.evaluate(GRAPH, MAPPING.pe), "the mapping is a ndarray, expected a Mapping"),
        (lambda: hb.evaluate(GRAPH, MAPPING, random_seeds=-1), "random_seeds -1, expected an integer >= 0"),
        (lambda: hb.Mapping(MAPPING.pe, 3), "the machine is a int, expected an Allocation"),
    ],
)
def test_evaluate_and_mapping(call, what):
    assert what in said(call)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"hosts": 3}, "hosts 3, expected a text or several"),
        ({"hosts": ["a", 3]}, "hosts ['a', 3], expected a text or several"),
        ({"exclude": None}, "exclude None, expected a text or several"),
        ({"exclude": b"core=0"}, "exclude b'core=0', expected a text or several"),
        ({"capacity": 2}, "capacity 2, expected a text or several"),
        ({"reserve": 1}, "reserve 1, expected a text"),
        ({"distance": 5}, "distance 5, expected a text"),
        ({"per": ["l3"]}, "per ['l3'], expected a text"),
        ({"cores_per_task": "2"}, "`cores_per_task`: 2, expected an integer >= 1"),
        ({"cores_per_task": 1.5}, "`cores_per_task`: 1.5, expected an integer >= 1"),
    ],
)
def test_machine(options, what):
    assert what in said(lambda: hb.allocate("node:2@10 core:4@1", **options))


#: What users hand over by mistake in place of a name, a number or a truth value.
ODD = [
    np.array([1, 2]), np.array([]), np.array("eco"), np.array(3), np.zeros((2, 2)), [[1], [2, 3]], {}, {1},
    object(), float("nan"), b"x", 1j,
]
TARGETS = [
    (hb.map_tasks, (GRAPH, WHERE)), (hb.evaluate, (GRAPH, MAPPING)), (hb.allocate, ("core:4",)),
    (hb.Limits, ()), (hb.read, ("stencil:2x2",)), (hb.mappers.Multisection, ()), (hb.mappers.TreeMatch, ()),
    (hb.mappers.Curve, ()), (hb.refiners.Congestion, ()),
]


@pytest.mark.parametrize(("function", "given"), TARGETS, ids=[target[0].__name__ for target in TARGETS])
def test_odd_objects_as_any_argument_raise_errors_of_the_package_only(function, given):
    """A wrong type is never a bare ValueError or TypeError, which an array raises wherever it is compared."""
    for name in list(inspect.signature(function).parameters)[len(given) :]:
        for value in ODD:
            with contextlib.suppress(HopbytesError):
                function(*given, **{name: value})


def test_an_option_of_an_algorithm_has_the_type_that_it_needs():
    two = np.array([1, 2])
    assert "slack=array([1, 2]), expected a text" in said(lambda: hb.mappers.Multisection(slack=two))
    assert "second_start=1, expected True or False" in said(lambda: hb.refiners.Routed(second_start=1))
    assert "repetitions=True, expected an integer" in said(
        lambda: hb.map_tasks(GRAPH, WHERE, hb.mappers.Multisection(repetitions=True))
    )


@pytest.mark.parametrize(
    ("use", "method"), [({"tasks_per_node": 2}, "eco"), ({"tasks_per": "node=1"}, "eco"), ({}, "treematch")]
)
def test_what_maps_no_task_is_evaluated(use, method):
    nothing = hb.CommGraph.from_edges([], [], n=0)
    mapping = hb.map_tasks(nothing, hb.allocate(WHERE, **use), method)
    assert hb.evaluate(nothing, mapping).comm_cost == 0
