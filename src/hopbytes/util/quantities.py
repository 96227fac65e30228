"""Numbers for people: bytes with decimal prefixes, counts with separators. JSON has them exactly."""

from __future__ import annotations

from typing import Any

PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def amount(volume: float, unit: str = "B") -> str:
    """Return a volume as people read it: three digits and a decimal prefix.

    >>> amount(120361892), amount(999), amount(37538014167040), amount(1500, "messages")
    ('120 MB', '999 B', '37.5 TB', '1,500 messages')
    """
    if unit != "B":
        return f"{volume:,.0f} {unit}".rstrip()
    return short_amount(volume, unit)


def short_amount(volume: float, unit: str = "") -> str:
    """Return a number with three digits, a decimal prefix and a unit.

    >>> short_amount(154138408, "B"), short_amount(999), short_amount(1234567)
    ('154 MB', '999', '1.23 M')
    """
    value, prefixes = float(volume), list(PREFIXES)
    while value >= 999.5 and len(prefixes) > 1:
        value, prefixes = value / 1000, prefixes[1:]
    digits = f"{value:.0f}" if value >= 99.95 or not value % 1 else f"{value:.3g}"
    return f"{digits} {prefixes[0]}{unit}".rstrip()


def number(value: float) -> str:
    """Return a number with separators; small fractions with four significant digits.

    >>> number(2034597966), number(2.5), number(12345.6)
    ('2,034,597,966', '2.5', '12,346')
    """
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Return a time as people read it.

    >>> duration(0.0012345), duration(12.3), duration(0.00099996), duration(0)
    ('1.23 ms', '12.3 s', '1 ms', '0 s')
    """
    if seconds >= 999.5:
        return f"{seconds:,.0f} s"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns" if seconds else "0 s"


def percent(share: float) -> str:
    """Return a share in per cent, with one decimal where it is small.

    >>> percent(0.24), percent(0.0251), percent(1.5)
    ('24 %', '2.5 %', '150 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.0995 else f"{100 * share:.1f} %"


def plain_value(value: Any) -> Any:
    """Return arrays and numbers of NumPy as plain ones, anything else as text: ``json.dumps(default=)``."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
