"""Numbers as people type them: shares in per cent, durations, numbers of scanned edges."""

import json
from fractions import Fraction

import pytest

import hopbytes as hb
from helpers.errors import assert_refused
from hopbytes.cli.declare import BadParameter
from hopbytes.cli.options import factor, phase_number, seconds, work_units
from hopbytes.errors import UnsupportedError
from hopbytes.model.capacities import exact_imbalance

MESH = ("map", "stencil:16x16", "--on", "node:2 core:4", "--partition", "--preset", "fast", "--json")


@pytest.mark.parametrize("typed", ["3", "5", "1", "1.0", "30"])
def test_per_cent_typed_as_a_number_is_refused_with_what_was_meant(hopbytes, typed):
    done = hopbytes(*MESH, "--imbalance", typed)
    number = float(typed)
    meant = (f"{number / 100:g}", f"{number:g}%", f"{100 * number:g}%")
    assert_refused(done, "imbalance", f"{1 + number:g}", *meant)


def test_per_cent_are_understood(hopbytes):
    found = []
    for typed in ("0.1", "10%", "10 %", "0.10"):
        done = hopbytes(*MESH, "--imbalance", typed, code=0)
        facts = json.loads(done.stdout)
        found.append((facts["bound_asked"], facts["comm_cost"]))
    assert found == [found[0]] * 4
    far = json.loads(hopbytes(*MESH, "--imbalance", "300%").stdout)
    assert far["bound_asked"] == 4 * 256 // 8


@pytest.mark.parametrize("typed", ["%", "3%%", "three", "-3%", "nan%", "inf%", "1e400%"])
def test_no_share_at_all(hopbytes, typed):
    done = hopbytes(*MESH, "--imbalance", typed)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"imbalance {typed}, expected a finite number >= 0 such as 0.03 or 3%" in done.stderr


def test_python_refuses_the_same():
    mesh, where = hb.read("stencil:16x16"), hb.allocate("node:2 core:4")
    with pytest.raises(UnsupportedError, match=r"3 % is 0\.03 or 3%"):
        hb.map_tasks(mesh, where, imbalance=3)
    for share in ("3%", Fraction(3, 100), 0.03):
        assert exact_imbalance(share) == Fraction(3, 100)
    assert exact_imbalance(Fraction(3)) == exact_imbalance("300%") == 3
    assert exact_imbalance(0.99) == Fraction(99, 100)


def test_a_time_limit_with_a_unit(hopbytes):
    done = hopbytes(*MESH, "--time-limit", "5m", code=0)
    assert json.loads(done.stdout)["deterministic"] is False


@pytest.mark.parametrize(
    ("parser", "typed", "meant"),
    [
        (seconds, "0", 0), (seconds, "2.5", 2.5), (seconds, "90s", 90), (seconds, "5m", 300),
        (seconds, "1h", 3600), (seconds, "1h30m", 5400), (seconds, "1H 5M", 3900), (seconds, "0.5h", 1800),
        (phase_number, "2", 2), (phase_number, "all", "all"), (factor, "1e-3", 0.001),
        *((work_units, each, 60959284) for each in ("60959284", "60,959,284", "60_959_284", " 60,959,284 ")),
    ],
)  # fmt: skip
def test_numbers_are_understood(parser, typed, meant):
    assert parser(typed) == meant


@pytest.mark.parametrize(
    ("parser", "expected", "words"),
    [
        (seconds, "seconds such as 300",
         ["-1", "nan", "inf", "1e400", "", "m", "5d", "5mm", "1.2.3s", "5 minutes"]),
        (phase_number, "a number", ["1", "-2", "x", "2147483648", "ALL"]),
        (factor, "a number", ["0", "-1", "x", "nan", "inf"]),
        (work_units, "a number of scanned edges such as 60,959,284",
         ["-1", "1,2", "1,2345", "1,234_567", ",123", "1e6", "0x10", "", "9" * 31]),
    ],
)  # fmt: skip
def test_what_is_no_number_is_refused(parser, expected, words):
    for typed in words:
        with pytest.raises(BadParameter, match=f"expected {expected}"):
            parser(typed)
