"""What map_tasks takes on both sides, what algorithms may return, and what its caller is told."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.sparse

import hopbytes as hb


@dataclasses.dataclass(frozen=True)
class Fixed(hb.Mapper):
    """Returns what it was made with."""

    answer: object

    def map(self, graph, where, bounds, effort):
        return self.answer


def test_every_way_to_say_the_two_sides(tmp_path):
    matrix = np.array([[0, 9, 0, 0], [0, 0, 0, 0], [0, 0, 0, 9], [0, 0, 0, 0]])
    file = tmp_path / "ring.csv"
    file.write_text("\n".join(",".join(map(str, row)) for row in matrix.tolist()) + "\n")
    spec = "node:2@10 core:2@1"
    for pattern in (matrix, matrix.tolist(), scipy.sparse.coo_array(matrix), hb.CommGraph.of(matrix)):
        for place in (spec, hb.allocate(spec), hb.allocate(spec).machine):
            assert hb.map_tasks(pattern, place).comm_cost == 18
    assert hb.map_tasks(file, spec, partition=False).comm_cost == 18
    assert hb.map_tasks("stencil:4x4", "node:4@10 core:4@1").n == 16


@pytest.mark.parametrize(
    ("arguments", "said"),
    [((3, "core:4"), "the pattern is a int"), (({1, 2}, "core:4"), "the pattern is a set"),
     (("stencil:2x2", 4), "a int, expected an Allocation")],
)  # fmt: skip
def test_sides_of_a_wrong_kind(arguments, said):
    with pytest.raises(TypeError, match=said):
        hb.map_tasks(*arguments)


def test_a_preset_is_a_value():
    named = hb.map_tasks("stencil:6x6", "node:6@10 core:6@1", "eco", seed=4)
    value = hb.map_tasks("stencil:6x6", "node:6@10 core:6@1", hb.presets.eco(), seed=4)
    assert np.array_equal(named.pe, value.pe)
    assert value.info["preset"] == "eco"


def test_an_own_chain():
    own = hb.Chain(hb.mappers.Random(), (hb.refiners.Swap(),))
    mapping = hb.map_tasks("stencil:6x6", "node:6@10 core:6@1", own)
    assert mapping.info["preset"] == "custom"
    assert mapping.info["mapper"] == "random"


@pytest.mark.parametrize("kind", [list, tuple, np.int64, np.uint8])
def test_exact_answers_of_other_types_are_taken(kind):
    answer = kind([3, 2, 1, 0]) if kind in (list, tuple) else np.array([3, 2, 1, 0], kind)
    assert hb.map_tasks("stencil:2x2", "core:4", Fixed(answer)).pe.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([1, 2, 3], r"Fixed returned list of 3, expected int32\[4\]"),
        (np.zeros(4), r"Fixed returned float64\[4\], expected int32\[4\]"),
        (None, r"Fixed returned NoneType, expected int32\[4\]"),
        ([0, 1, 2, 4], r"Fixed put task 3 on PE 4, expected 0\.\.3"),
        (np.array([0, 1, 2, 2**33]), r"Fixed put task 3 on PE 8589934592"),
    ],
)
def test_other_answers_are_named(answer, said):
    with pytest.raises(hb.HopbytesError, match=said):
        hb.map_tasks("stencil:2x2", "core:4", Fixed(answer))


def test_tasks_that_had_to_be_moved_are_counted():
    with pytest.warns(hb.HopbytesWarning, match="12 of 16 tasks were moved to keep the bound"):
        mapping = hb.map_tasks("stencil:4x4", "core:4@1", Fixed([0] * 16), partition=True)
    assert any("were moved" in notice for notice in mapping.info["notices"])
    assert mapping.tasks_per_pe().tolist() == [4, 4, 4, 4]


def test_decimals_say_their_unit():
    graph = hb.CommGraph.from_edges([0, 1], [1, 0], [0.125, 2.5])
    with pytest.warns(hb.HopbytesWarning, match=r"multiplied by 10\^3"):
        hb.map_tasks(graph, "core:2")
    with warnings.catch_warnings():
        warnings.simplefilter("error", hb.HopbytesWarning)
        hb.map_tasks(graph, "core:2", weight="unit")


def test_notices_and_warnings_are_the_same():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mapping = hb.map_tasks("stencil:16x16", "core:4")
    assert [str(one.message) for one in caught] == mapping.info["notices"] != []
    assert all(one.filename == __file__ for one in caught)
    assert "`partition=False`" in mapping.info["notices"][0]


@pytest.mark.parametrize("meta", [{"recorded": {"by": "interposer"}}, {"tasks": "processes"}])
def test_a_recorded_pattern_is_never_silently_a_partition(meta):
    plain = hb.read_pattern("stencil:8x8")
    recorded = dataclasses.replace(plain, meta=meta)
    with pytest.raises(hb.InfeasibleError, match="`oversubscribe=True`"):
        hb.map_tasks(recorded, "core:8")
    assert hb.map_tasks(recorded, "core:8", partition=True).info["problem"] == "partition"


def test_history_falls_to_the_answer():
    mapping = hb.map_tasks("stencil:12x12", "node:12@10 core:12@1", "strong")
    history = mapping.info["history"]
    costs = [cost for _, _, cost in history]
    assert costs == sorted(set(costs), reverse=True)
    assert costs[-1] == mapping.comm_cost
    assert [arcs for _, arcs, _ in history] == sorted(arcs for _, arcs, _ in history)


def test_errors_are_those_that_python_programs_expect():
    for kind, base in (
        (hb.FormatError, ValueError), (hb.InfeasibleError, ValueError), (hb.UnsupportedError, ValueError),
        (hb.WrongTypeError, TypeError), (hb.ScaleError, OverflowError),
        (hb.MissingPackageError, ImportError),
    ):  # fmt: skip
        assert issubclass(kind, base)
        assert issubclass(kind, hb.HopbytesError)
    with pytest.raises(TypeError):
        hb.map_tasks("stencil:2x2", "core:4", threads="2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads"):
        hb.map_tasks("stencil:2x2", "core:4", threads=0)
