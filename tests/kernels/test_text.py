"""The compiled parsers against their plain Python twins, at every cut of the text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopbytes import _core
from hopbytes.kernels.records import Slot, Status
from reference import text_reference as parse_twin


def run(module, name, text, arrays, slots, cuts=()):
    """Feed `text` in pieces; return (state that matters, filled arrays)."""
    state = np.zeros(len(Slot), np.int64)
    state[Slot.LINE] = 1
    for slot, value in slots.items():
        state[slot] = value
    arrays = [array.copy() for array in arrays]
    parse = getattr(module, name)
    rest, ends = b"", [*sorted(c for c in cuts if c < len(text)), len(text)]
    begin = 0
    for end in [*ends, None]:
        rest += text[begin:end] if end is not None else b""
        begin = end
        used = parse(np.frombuffer(rest, np.uint8), end is None, state, *arrays)
        if state[Slot.STATUS] != Status.DONE:
            break
        rest = rest[used:]
    return Status(int(state[Slot.STATUS])), int(state[Slot.LINE]), state, arrays


def metis(module, text, n, *, sizes=0, loads=0, weighted=0, room=200, cuts=()):
    arrays = [
        np.zeros(n + 1, np.int64), np.zeros(room, np.int32), np.zeros(room if weighted else 0, np.int64),
        np.zeros(n if loads else 0, np.int64),
    ]
    slots = {Slot.VERTICES: n, Slot.SIZES: sizes, Slot.LOADS: loads, Slot.EDGE_WEIGHTS: weighted}
    status, line, state, arrays = run(module, "parse_metis", text, arrays, slots, cuts)
    return status, line, [int(state[s]) for s in (Slot.ROW, Slot.ARCS, Slot.COMMENTS)], arrays


def table(module, name, text, columns, *, room=200, cuts=(), task_columns=0, limit=0, whole=0):
    values = np.zeros(room, np.int64 if name == "parse_table" else np.float64)
    slots = {
        Slot.COLUMNS: columns, Slot.TASK_COLUMNS: task_columns, Slot.TASK_LIMIT: limit,
        Slot.WHOLE_COLUMNS: whole,
    }
    status, line, state, arrays = run(module, name, text, [values], slots, cuts)
    return status, line, int(state[Slot.ARCS]), arrays


def assert_twins(compiled, plain):
    # A line with several faults may be refused for any of them.
    assert (compiled[0] is Status.DONE, compiled[1]) == (plain[0] is Status.DONE, plain[1])
    if compiled[0] is Status.DONE:
        assert compiled[2] == plain[2]
        for mine, other in zip(compiled[3], plain[3], strict=True):
            np.testing.assert_array_equal(mine, other)


METIS_TEXT = st.text(st.sampled_from("0123 45 \n \n\t\r%-,x9"), max_size=120).map(str.encode)
CUTS = st.lists(st.integers(1, 119), max_size=5)


@given(METIS_TEXT, st.integers(0, 5), st.integers(0, 1), st.integers(0, 2), st.integers(0, 1), CUTS)
def test_metis_twin(text, n, sizes, loads, weighted, cuts):
    options = {"sizes": sizes, "loads": loads, "weighted": weighted}
    plain = metis(parse_twin, text, n, **options)
    assert_twins(metis(_core, text, n, **options), plain)
    assert_twins(metis(_core, text, n, **options, cuts=cuts), plain)


@st.composite
def valid_metis(draw):
    """Lines of n vertices whose neighbours are distinct, no loops, in any order."""
    n = draw(st.integers(1, 6))
    sizes, loads, weighted = draw(st.integers(0, 1)), draw(st.integers(0, 2)), draw(st.integers(0, 1))
    lines = []
    for vertex in range(1, n + 1):
        others = [v for v in range(1, n + 1) if v != vertex]
        chosen = draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        words = [str(draw(st.integers(0, 2**62))) for _ in range(sizes + loads)]
        for other in chosen:
            words += [str(other)] + [str(draw(st.integers(0, 2**62)))] * weighted
        lines.append(draw(st.sampled_from([" ", "\t", "  "])).join(words))
        if draw(st.integers(0, 5)) == 0:
            lines.append("% 1 2 3")
    return "\n".join(lines).encode() + draw(st.sampled_from([b"", b"\n", b"\r\n", b"\n\n"])), n, {
        "sizes": sizes, "loads": loads, "weighted": weighted
    }


@given(valid_metis(), CUTS)
def test_metis_twin_on_valid_files(case, cuts):
    text, n, options = case
    plain = metis(parse_twin, text, n, **options)
    assert plain[0] is Status.DONE
    assert plain[2][0] == n
    assert_twins(metis(_core, text, n, **options, cuts=cuts), plain)


TABLE_TEXT = st.text(st.sampled_from("0123 45 \n \n\t,#%-.e9x+"), max_size=100).map(str.encode)


@pytest.mark.parametrize("name", ["parse_table", "parse_real_table"])
@given(TABLE_TEXT, st.integers(1, 4), CUTS, st.integers(0, 2), st.integers(0, 7))
def test_table_twin(name, text, columns, cuts, task_columns, whole):
    options = {"task_columns": task_columns, "limit": 40, "whole": whole}
    plain = table(parse_twin, name, text, columns, **options)
    assert_twins(table(_core, name, text, columns, **options), plain)
    assert_twins(table(_core, name, text, columns, **options, cuts=cuts), plain)


NUMBERS = st.lists(st.tuples(*[st.floats(0, 1e18) | st.integers(0, 2**62)] * 3), max_size=8)


@given(NUMBERS, CUTS, st.sampled_from([" ", ",", "\t", " , "]))
def test_table_values_are_exact(rows, cuts, separator):
    text = "".join(separator.join(map(repr, row)) + "\n" for row in rows).encode()
    status, _, count, (values,) = table(_core, "parse_real_table", text, 3, cuts=cuts)
    assert status is Status.DONE
    assert values[:count].tolist() == [float(value) for row in rows for value in row]


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
    assert table(_core, "parse_table", b"9223372036854775807\n", 1)[3][0][0] == 2**63 - 1
    for digits in (b"9223372036854775808", b"18446744073709551617", b"9" * 40):
        assert table(_core, "parse_table", digits, 1)[0] is Status.TOO_LARGE
    assert table(_core, "parse_table", b"0" * 50 + b"7", 1)[3][0][0] == 7
    long = table(_core, "parse_table", b"0" * 5000 + b"7", 1, cuts=range(1, 5000, 7))
    assert long[0] is Status.NOT_A_NUMBER
