"""The compiled parsers: what was written is read, however the text is cut."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopbytes import _core
from hopbytes.kernels.records import Slot, Status


def run(name, text, arrays, slots, cuts=()):
    """Feed `text` in pieces; return (status, line, state, filled arrays)."""
    state = np.zeros(len(Slot), np.int64)
    state[Slot.LINE] = 1
    for slot, value in slots.items():
        state[slot] = value
    parse = getattr(_core, name)
    rest, begin = b"", 0
    for end in [*sorted(c for c in cuts if c < len(text)), len(text), None]:
        rest += text[begin:end] if end is not None else b""
        begin = end
        used = parse(np.frombuffer(rest, np.uint8), end is None, state, *arrays)
        if state[Slot.STATUS] != Status.DONE:
            break
        rest = rest[used:]
    return Status(int(state[Slot.STATUS])), int(state[Slot.LINE]), state, arrays


def metis(text, n, *, sizes=0, loads=0, weighted=0, room=200, cuts=()):
    arrays = [
        np.zeros(n + 1, np.int64), np.zeros(room, np.int32), np.zeros(room if weighted else 0, np.int64),
        np.zeros(n if loads else 0, np.int64),
    ]
    slots = {Slot.VERTICES: n, Slot.SIZES: sizes, Slot.LOADS: loads, Slot.EDGE_WEIGHTS: weighted}
    status, line, state, arrays = run("parse_metis", text, arrays, slots, cuts)
    return status, line, [int(state[s]) for s in (Slot.ROW, Slot.ARCS, Slot.COMMENTS)], arrays


def table(name, text, columns, *, cuts=(), task_columns=0, limit=0, whole=0):
    values = np.zeros(200, np.int64 if name == "parse_table" else np.float64)
    slots = {
        Slot.COLUMNS: columns, Slot.TASK_COLUMNS: task_columns, Slot.TASK_LIMIT: limit,
        Slot.WHOLE_COLUMNS: whole,
    }
    status, line, state, arrays = run(name, text, [values], slots, cuts)
    return status, line, int(state[Slot.ARCS]), arrays


def assert_equal(pieces, whole):
    # A line with several faults may be refused for any of them.
    assert (pieces[0] is Status.DONE, pieces[1]) == (whole[0] is Status.DONE, whole[1])
    if whole[0] is Status.DONE:
        assert pieces[2] == whole[2]
        for mine, other in zip(pieces[3], whole[3], strict=True):
            np.testing.assert_array_equal(mine, other)


METIS_TEXT = st.text(st.sampled_from("0123 45 \n \n\t\r%-,x9"), max_size=120).map(str.encode)
CUTS = st.lists(st.integers(1, 119), max_size=5)


@given(METIS_TEXT, st.integers(0, 5), st.integers(0, 1), st.integers(0, 2), st.integers(0, 1), CUTS)
def test_rows_do_not_depend_on_the_cuts(text, n, sizes, loads, weighted, cuts):
    options = {"sizes": sizes, "loads": loads, "weighted": weighted}
    assert_equal(metis(text, n, **options, cuts=cuts), metis(text, n, **options))


@st.composite
def valid_metis(draw):
    """Lines of n vertices whose neighbours are distinct, no loops, in any order; and what they say."""
    n = draw(st.integers(1, 6))
    sizes, loads, weighted = draw(st.integers(0, 1)), draw(st.integers(0, 2)), draw(st.integers(0, 1))
    lines, rows, first_loads = [], [], []
    for vertex in range(1, n + 1):
        others = [v for v in range(1, n + 1) if v != vertex]
        chosen = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        numbers = [draw(st.integers(0, 2**62)) for _ in range(sizes + loads)]
        row = {other: draw(st.integers(0, 2**62)) for other in chosen}
        words = [*numbers, *(word for pair in row.items() for word in (pair if weighted else pair[:1]))]
        lines.append(draw(st.sampled_from([" ", "\t", "  "])).join(map(str, words)))
        rows.append(sorted(row.items()))
        first_loads += numbers[sizes : sizes + 1]
        if draw(st.integers(0, 5)) == 0:
            lines.append("% 1 2 3")
    text = "\n".join(lines).encode() + draw(st.sampled_from([b"", b"\n", b"\r\n", b"\n\n"]))
    return text, rows, first_loads, {"sizes": sizes, "loads": loads, "weighted": weighted}


@given(valid_metis(), CUTS)
def test_rows_are_those_that_were_written(case, cuts):
    text, rows, loads, options = case
    status, _, (vertices, arcs, _), arrays = metis(text, len(rows), **options, cuts=cuts)
    assert (status, vertices, arcs) == (Status.DONE, len(rows), sum(map(len, rows)))
    indptr, targets, weights, found = (array.tolist() for array in arrays)
    assert [end - begin for begin, end in pairwise(indptr)] == list(map(len, rows))
    assert targets[:arcs] == [other - 1 for row in rows for other, _ in row]
    assert weights[:arcs] == [weight for row in rows for _, weight in row] * options["weighted"]
    assert found == loads


TABLE_TEXT = st.text(st.sampled_from("0123 45 \n \n\t,#%-.e9x+"), max_size=100).map(str.encode)


@pytest.mark.parametrize("name", ["parse_table", "parse_real_table"])
@given(TABLE_TEXT, st.integers(1, 4), CUTS, st.integers(0, 2), st.integers(0, 7))
def test_tables_do_not_depend_on_the_cuts(name, text, columns, cuts, task_columns, whole):
    options = {"task_columns": task_columns, "limit": 40, "whole": whole}
    assert_equal(table(name, text, columns, **options, cuts=cuts), table(name, text, columns, **options))


@given(
    st.sampled_from([("parse_table", st.integers(0, 2**62)), ("parse_real_table", st.floats(0, 1e18))]),
    CUTS, st.sampled_from([" ", ",", "\t", " , "]), st.data(),
)  # fmt: skip
def test_table_values_are_exact(kind, cuts, separator, data):
    name, numbers = kind
    rows = data.draw(st.lists(st.tuples(numbers, numbers, numbers), max_size=8))
    text = "".join(separator.join(map(repr, row)) + "\n" for row in rows).encode()
    status, _, count, (values,) = table(name, text, 3, cuts=cuts)
    assert status is Status.DONE
    assert values[:count].tolist() == [value for row in rows for value in row]


@pytest.mark.parametrize("room", range(1, 12))
def test_metis_continues_after_more_room(room):
    """The caller gives room in steps; nothing may be lost or doubled."""
    text, n = b"2 7 3 8\n1 7 3 9\n2 9 1 8", 3
    state = np.zeros(len(Slot), np.int64)
    state[[Slot.VERTICES, Slot.EDGE_WEIGHTS]] = n, 1
    indptr, targets, weights = np.zeros(n + 1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.int64)
    none = np.empty(0, np.int64)
    used = _core.parse_metis(np.frombuffer(text, np.uint8), True, state, indptr, targets, weights, none)
    while state[Slot.STATUS] == Status.ROOM:
        targets, weights = (np.resize(a, len(a) + room) for a in (targets, weights))
        piece = np.frombuffer(text[used:], np.uint8)
        used += _core.parse_metis(piece, True, state, indptr, targets, weights, none)
    assert indptr.tolist() == [0, 2, 4, 6]
    assert targets[:6].tolist() == [1, 2, 0, 2, 0, 1]
    assert weights[:6].tolist() == [7, 8, 7, 9, 8, 9]


def test_a_wrong_state_is_refused():
    empty = np.empty(0, np.int64)
    with pytest.raises(ValueError, match="state"):
        _core.parse_table(np.empty(0, np.uint8), True, np.zeros(3, np.int64), empty)


def test_the_largest_number_fits_and_the_next_does_not():
    assert table("parse_table", b"9223372036854775807\n", 1)[3][0][0] == 2**63 - 1
    for digits in (b"9223372036854775808", b"18446744073709551617", b"9" * 40):
        assert table("parse_table", digits, 1)[0] is Status.TOO_LARGE
    assert table("parse_table", b"0" * 50 + b"7", 1)[3][0][0] == 7
    long = table("parse_table", b"0" * 5000 + b"7", 1, cuts=range(1, 5000, 7))
    assert long[0] is Status.NOT_A_NUMBER
