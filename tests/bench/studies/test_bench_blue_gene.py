"""Hop-bytes of recorded traffic: what the machine counted is what hopbytes computes."""

import csv

import pytest

from bench.pages import kept
from bench.studies import blue_gene

with open(blue_gene.SAMPLES / "cases.tsv") as file:
    CASES = list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_counted_hop_bytes_are_computed_to_the_digit(case):
    row = blue_gene.measure(blue_gene.SAMPLES, case)
    assert blue_gene.agrees(row)
    assert row["comm_cost"]["hop_bytes"] <= row["in_order"]["hop_bytes"]
    assert row["max_congestion"]["busiest_link"] <= row["in_order"]["busiest_link"]


def test_a_digit_off_is_seen():
    row = {"counted": 2.121315e9, "in_order": {"hop_bytes": 2_121_316_124}}
    assert not blue_gene.agrees(row)
    row = {**kept.rows("blue_gene")[0], "counted": 1.0}
    assert "the same in 0 of 1" in blue_gene.table([row])


def test_what_the_readme_says_of_it():
    rows = kept.rows("blue_gene")
    assert len(rows) == 16
    assert all(map(blue_gene.agrees, rows))
    assert "| the same in 16 of 16 | 0.722 |" in blue_gene.table(rows)
