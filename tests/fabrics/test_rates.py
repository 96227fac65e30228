"""Rates of InfiniBand links."""

from __future__ import annotations

import pytest

from helpers.fabric_text import two_level_fabric
from hopbytes.fabrics.fabric import read_fabric
from hopbytes.fabrics.ibnetdiscover import bytes_per_second, rate_of


def test_unknown_rates(tmp_path):
    text = two_level_fabric()
    text.cables[0] = (*text.cables[0][:2], "4x???")
    fabric = read_fabric(text.write(tmp_path))
    assert set(fabric.link_capacity.tolist()) == {25_000_000_000}
    assert "2 of 24 links have no known rate" in fabric.notices[0]


@pytest.mark.parametrize(
    ("rate", "bits"),
    [  # data rates of InfiniBand as vendors publish them, in Mbit/s
        ("4xSDR", 8_000),
        ("4xDDR", 16_000),
        ("4xQDR", 32_000),
        ("4xFDR10", 40_000),
        ("4xEDR", 100_000),
        ("4xHDR", 200_000),
        ("2xHDR", 100_000),
        ("4xNDR", 400_000),
        ("4xXDR", 800_000),
        ("12x QDR", 96_000),
        ("1xSDR", 2_000),
    ],
)
def test_rates(rate, bits):
    assert rate_of(f"lid 3 {rate}") == bits * 10**6 // 8


def test_odd_rates():
    assert rate_of("4xFDR") == 6_818_181_818  # 4 x 14.0625 Gbit/s x 64/66, rounded down
    assert rate_of("4x ???") is None
    assert rate_of("no rate") is None
    assert bytes_per_second(3, "SDR") is None
