"""Hop-bytes of recorded traffic: what the machine counted is what hopbytes computes."""

import csv

import pytest

from bench.studies import blue_gene

with open(blue_gene.SAMPLES / "cases.tsv") as file:
    CASES = list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("case", CASES, ids=[case["case"] for case in CASES])
def test_counted_hop_bytes_are_computed_to_the_digit(case):
    row = blue_gene.measure(blue_gene.SAMPLES, case)
    assert blue_gene.agrees(row)
    assert row["comm_cost"]["hop_bytes"] <= row["in_order"]["hop_bytes"]
    assert row["max_congestion"]["busiest_link"] <= row["in_order"]["busiest_link"]
