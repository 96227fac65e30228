"""Calls of gloo in a trace of ``torch.profiler``: what was called with how much, but not in which group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from hopbytes.formats.patterns.torch_calls import bytes_of_type, call_kind, whole

#: Calls of ``c10d::`` and where among their arguments the root, or the receiver, is.
ROOT_AT = {"broadcast_": 2, "reduce_": 3, "gather_": 3, "scatter_": 3, "send": 2}


class GlooCall(NamedTuple):
    """A call: kind, bytes of a rank, and root or receiver (None where unknown)."""

    kind: str
    sent: int
    root: int | None


def gloo_calls(events: list[Any]) -> Iterator[GlooCall]:
    """Yield the calls of gloo, the annotations ``gloo:…``.

    The operators ``c10d::…`` beside them know roots and receivers. gloo works on collectives in threads of
    its own, so a root is known where all calls of a kind have the same one; sends follow their operators.
    """
    roots: dict[str, list[tuple[float, int]]] = {}
    found: list[tuple[float, str, int]] = []
    for event in events:
        name = event.get("name") if isinstance(event, dict) else None
        if not isinstance(name, str) or not name.startswith(("gloo:", "c10d::")):
            continue
        args = event.get("args")
        args = args if isinstance(args, dict) else {}
        time = event.get("ts")
        if not isinstance(time, (int, float)):
            raise ValueError(f"{name[:40]!r} without a time, expected ts")
        operator = name.removeprefix("c10d::")
        if operator in ROOT_AT:
            words, at = args.get("Concrete Inputs"), ROOT_AT[operator]
            root = whole(words[at] if isinstance(words, list) and len(words) > at else None, "a rank")
            roots.setdefault(str(call_kind(operator)), []).append((time, root))
        elif operator == name:
            kind = call_kind(name)
            if kind is not None:
                found.append((time, kind, _bytes(args, kind)))
    receivers = iter(root for _, root in sorted(roots.get("send", [])))
    for _, kind, sent in sorted(found):
        known = {root for _, root in roots.get(kind, [])}
        only = known.pop() if len(known) == 1 else None
        yield GlooCall(kind, sent, next(receivers, None) if kind == "send" else only)


def _bytes(args: dict[str, Any], kind: str) -> int:
    """Return the bytes of the tensors of a call; of a scatter those of one receiver."""
    shapes, types = args.get("Input Dims", []), args.get("Input type", [])
    if not isinstance(shapes, list) or not isinstance(types, list) or len(shapes) != len(types):
        raise ValueError("other shapes than types, expected those of tensors (record_shapes=True)")
    total = 0
    for shape, name in zip(shapes, types, strict=True):
        size = bytes_of_type(name)
        for extent in shape if isinstance(shape, list) else [shape]:
            size *= whole(extent, "an extent of a tensor")
        total = max(total, size) if kind == "scatter" else total + size
    return whole(total, "tensors of less than 2^63 bytes")
