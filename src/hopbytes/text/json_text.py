"""JSON: texts that others wrote, whose faults become errors with path and line, and our own values."""

from __future__ import annotations

import json
from typing import Any

from hopbytes.errors import FormatError


def parse_object(data: bytes, name: str, what: str) -> dict[str, Any]:
    """Return the object that a JSON text holds.

    >>> parse_object(b'{"rank": 0}', "a.json", "a trace")
    {'rank': 0}
    """
    try:
        found = json.loads(data)
    except json.JSONDecodeError as error:
        raise FormatError(name, error.lineno, f"no JSON ({error.msg}), expected {what}") from None
    except (ValueError, RecursionError):
        raise FormatError(name, None, f"damaged JSON, expected {what}") from None
    if not isinstance(found, dict):
        raise FormatError(name, None, f"a JSON {type(found).__name__}, expected {what}")
    return found


def plain_value(value: Any) -> Any:
    """Return arrays and numbers of NumPy as plain ones, anything else as text: ``json.dumps(default=)``."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
