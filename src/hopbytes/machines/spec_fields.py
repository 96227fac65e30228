"""Fields of a network's spec: sizes, ``key=value``, the distance per hop."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from hopbytes._frozen import frozen
from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.machines.base import Machine
from hopbytes.machines.kinds.tree import MAX_CORES, MAX_DISTANCE, shorten


def bad(what: str) -> FormatError:
    """Return the error about a spec."""
    return FormatError("machine", None, what)


def network_fields(kind: str, text: str, keys: dict[str, str]) -> tuple[str, dict[str, str], int | None]:
    """Take what follows ``kind:`` apart: what comes first, ``key=value`` fields, the distance per hop."""
    per_hop: int | None = None
    head, *fields = text.split(":")
    found: dict[str, str] = {}
    words = [head, *fields]
    for place, word in enumerate(words):
        value, at, number = word.partition("@")
        if not at:
            continue
        if per_hop is not None or not number.isdigit() or len(number) > 19:
            raise bad(f"{shorten(kind + ':' + text)}: {shorten('@' + number)}, expected one integer >= 0")
        per_hop, words[place] = int(number), value
    for word in words[1:]:
        key, equals, value = word.partition("=")
        if not equals or key not in keys or key in found:
            known = ", ".join(f"{name}={example}" for name, example in keys.items())
            raise bad(f"{shorten(kind + ':' + text)}: {shorten(word)}, expected each at most once: {known}")
        found[key] = value
    return words[0], found, per_hop


def sizes_of(kind: str, text: str, most: int = MAX_CORES) -> tuple[int, ...]:
    """Read ``17x8x24``: integers >= 1 whose product is at most `most`."""
    sizes = []
    product = 1
    for word in text.split("x"):
        if not (word.isascii() and word.isdigit()) or len(word) > 9 or int(word) < 1:
            raise bad(f"{kind}: {shorten(word)} in {shorten(text)}, expected integers >= 1 like 16x12x8")
        sizes.append(int(word))
        product *= sizes[-1]
    if len(sizes) > 16 or product > most:
        raise bad(f"{kind}: {shorten(text)}, expected at most 16 sizes and {most} in all")
    return tuple(sizes)


def number_of(kind: str, key: str, text: str, least: int = 1, most: int = MAX_DISTANCE) -> int:
    """Read one integer from `least` to `most`; 12.5e9 is one too."""
    value: int | None = None
    if text.isascii() and text.isdigit() and len(text) <= 19:
        value = int(text)
    elif re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?e[0-9]{1,2}", text, re.ASCII):
        exact = float(text)
        value = int(exact) if exact.is_integer() else None
    if value is None or not least <= value <= most:
        raise bad(f"{kind}: {key}={shorten(text)}, expected an integer from {least} to {most}")
    return value


def bandwidths_of(kind: str, text: str, count: int, expected: str) -> tuple[int, ...]:
    """Read ``bw=``: one capacity for all of `count` sorts of links, or one for each."""
    words = text.split("x")
    if len(words) not in (1, count):
        raise bad(f"{kind}: bw={shorten(text)}, expected {expected}")
    widths = tuple(number_of(kind, "bw", word) for word in words)
    return widths * count if len(widths) == 1 else widths


def bandwidth_field(bandwidth: Sequence[int]) -> str:
    """Write ``:bw=`` with the capacities, a single number where all are equal; nothing where all are 1."""
    if set(bandwidth) == {1}:
        return ""
    return f":bw={bandwidth[0] if len(set(bandwidth)) == 1 else joined(bandwidth)}"


def joined(numbers: Iterable[int]) -> str:
    """Write sizes as ``17x8x24``."""
    return "x".join(map(str, numbers))


#: ``@10`` at the end is a distance, ``@n[1-4]`` the hosts to keep.
AT_END = re.compile(r"@([^@/]*)$", re.ASCII)
DISTANCE = re.compile(r"[0-9]{1,13}", re.ASCII)


@frozen
class FileSpec:
    """What follows ``kind:`` in the spec of a machine that is read from a file."""

    path: str
    options: Mapping[str, str]  # ``key=value`` fields
    per_hop: int | None = None  # what stood behind ``@``, when it was a number
    #: fields with other keys, where the kind takes distances of its levels
    levels: Mapping[str, str] = field(default_factory=dict)

    def text(self, kind: str) -> str:
        """Return the spec again, without the distance."""
        return ":".join([kind, self.path, *(f"{key}={value}" for key, value in self.options.items())])


def file_spec(kind: str, text: str, keys: Mapping[str, str]) -> FileSpec:
    """Take a spec apart: ``PATH[:key=value…][@hosts or @distance]``, the last two in any order.

    >>> file_spec("ib", "a:b/c:rails=same@10", {"rails": "same"})
    FileSpec(path='a:b/c', options={'rails': 'same'}, per_hop=10, levels={})
    >>> file_spec("ib", "a:b/c:tables=fe80:1/*", {"tables": "FILE"}).options
    {'tables': 'fe80:1/*'}
    """
    options: dict[str, str] = {}
    per_hop: int | None = None
    rest = text
    while True:
        at = AT_END.search(rest)
        head, colon, last = rest.rpartition(":")
        key, equals, value = last.partition("=")
        if at is not None and (not colon or at.start() > len(head)) and not (equals and "@" not in value):
            word = at[1]
            if DISTANCE.fullmatch(word):
                if per_hop is not None:
                    raise bad(f"{kind}:{shorten(text)}: two distances, expected one")
                per_hop = int(word)
            else:
                _store(kind, text, options, keys, "hosts", word)
            rest = rest[: at.start()]
        elif colon and equals and "/" not in key:
            _store(kind, text, options, keys, key, value)
            rest = head
        else:
            start = max((rest.rfind(f":{name}=") for name in keys), default=-1)
            if start < 1:
                break
            key, _, value = rest[start + 1 :].partition("=")  # a value with colons, as names of subnets have
            _store(kind, text, options, keys, key, value)
            rest = rest[:start]
    if not rest:
        known = "".join(f"[:{name}={example}]" for name, example in keys.items())
        raise bad(f"{kind}: without a path, expected {kind}:PATH{known}")
    ordered = {key: options.pop(key) for key in keys if key in options}
    return FileSpec(rest, ordered, per_hop, options)


def _store(
    kind: str, text: str, options: dict[str, str], keys: Mapping[str, str], key: str, value: str
) -> None:
    if (key not in keys and "LEVEL" not in keys) or key in options or not key or not value:
        known = ", ".join(f"{name}={example}" for name, example in keys.items())
        what = shorten(f"{key}={value}")
        raise FormatError("machine", None, f"{kind}:{shorten(text)}: {what}, expected each once: {known}")
    options[key] = value


#: Kinds of machines whose hosts have adapters to choose from, and the options that users may also give apart.
WITH_ADAPTERS = ("ib",)
OPTION_OF_KEY = {"rails": "`rails`", "adapters": "`adapters`", "names": "`node_name_map`"}


def with_options(spec: str | Machine | None, options: Mapping[str, str | None]) -> str | Machine | None:
    """Put options about adapters into the spec of a fabric.

    >>> with_options("ib:fabric / core:4", {"rails": "same", "adapters": None})
    'ib:fabric:rails=same / core:4'
    """
    given = {key: value for key, value in options.items() if value is not None}
    if not given:
        return spec
    text = spec if isinstance(spec, str) else ""
    network, slash, inside = text.partition(" / ")
    if network.partition(":")[0] not in WITH_ADAPTERS:
        words = ", ".join(OPTION_OF_KEY[key] for key in given)
        raise UnsupportedError(f"{words} needs a fabric whose hosts have adapters: ib:DIR")
    fields = "".join(f":{key}={value}" for key, value in given.items())
    return f"{network.rstrip()}{fields}{slash}{inside}"
