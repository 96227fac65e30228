"""Durations and numbers of scanned edges, as people type them and as messages print them."""

import pytest
from hopbytes.cli.values import seconds, work_units

from hopbytes.cli.declare import BadParameter


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("0", 0), ("2.5", 2.5), ("90s", 90), ("5m", 300), ("1h", 3600), ("1h30m", 5400), ("1H 5M", 3900),
        ("0.5h", 1800),
    ],
)  # fmt: skip
def test_durations(typed, meant):
    assert seconds(typed) == meant


@pytest.mark.parametrize("typed", ["-1", "nan", "inf", "1e400", "", "m", "5d", "1.2.3s"])
def test_no_duration(typed):
    with pytest.raises(BadParameter, match="expected seconds such as 300"):
        seconds(typed)


@pytest.mark.parametrize("typed", ["60959284", "60,959,284", "60_959_284", " 60,959,284 "])
def test_numbers_of_scanned_edges(typed):
    assert work_units(typed) == 60_959_284


@pytest.mark.parametrize("typed", ["-1", "1,2", "1,2345", "1,234_567", ",123", "1e6", "0x10", "", "9" * 31])
def test_no_number_of_scanned_edges(typed):
    with pytest.raises(BadParameter, match="such as 60,959,284"):
        work_units(typed)
