"""Numbers for people, where their form changes."""

import numpy as np
import pytest

from hopbytes.util.quantities import amount, duration, number, percent, plain_value, short_amount


@pytest.mark.parametrize(
    ("show", "cases"),
    [
        (short_amount, {
            0: "0", 7: "7", 2.5: "2.5", 99.94: "99.9", 99.96: "100", 999.4: "999", 999.5: "1 k", 1000: "1 k",
            1500: "1.5 k", 999_499: "999 k", 10**18: "1 E", 12 * 10**21: "12000 E",
        }),
        (amount, {999: "999 B", 120_361_892: "120 MB", 1e15: "1 PB"}),
        (number, {0: "0", 2.5: "2.5", 999.5: "999.5", 1000: "1,000", 12_345.6: "12,346", 1e-5: "1e-05"}),
        (duration, {
            0: "0 s", 1e-10: "0.1 ns", 0.9994e-6: "999 ns", 0.9996e-6: "1 us", 0.0012345: "1.23 ms",
            0.9994: "999 ms", 0.9996: "1 s", 12.3: "12.3 s", 999.4: "999 s", 999.5: "1,000 s",
        }),
        (percent, {0: "0.0 %", 0.0251: "2.5 %", 0.0994: "9.9 %", 0.0996: "10 %", 0.24: "24 %", 1.5: "150 %"}),
    ],
)  # fmt: skip
def test_numbers_as_people_read_them(show, cases):
    assert {value: show(value) for value in cases} == cases


def test_other_units_and_plain_values():
    assert amount(1500, "messages") == "1,500 messages"
    assert amount(3, "") == "3"
    assert short_amount(1500, "B") == "1.5 kB"
    assert plain_value(np.arange(2)) == [0, 1]
    assert plain_value(np.int64(3)) == 3
    assert plain_value({1}) == "{1}"
