"""YAML with line numbers, as plain nodes, without constructors or aliases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hopbytes.errors import FormatError, UnsupportedError
from hopbytes.text.lines import read_bytes

MAX_BYTES = 2**26
MAX_DEPTH = 50


class Yaml:
    """A node of a YAML document that knows its file and line."""

    __slots__ = ("line", "path", "value")

    def __init__(self, path: str, line: int, value: Any) -> None:
        self.path, self.line, self.value = path, line, value

    def fail(self, what: str) -> FormatError:
        """Return the error for this place."""
        return FormatError(self.path, self.line, what)

    def mapping(self, what: str) -> dict[str, Yaml]:
        """Return the pairs of a mapping; FormatError when it is none."""
        if not isinstance(self.value, dict):
            raise self.fail(f"{what} is {_kind(self.value)}, expected pairs key: value")
        return self.value

    def items(self, what: str) -> Iterator[Yaml]:
        """Return the entries of a list; FormatError when it is none."""
        if not isinstance(self.value, list):
            raise self.fail(f"{what} is {_kind(self.value)}, expected a list")
        return iter(self.value)

    def text(self, what: str) -> str:
        """Return a scalar as text; FormatError when it is none."""
        if not isinstance(self.value, str):
            raise self.fail(f"{what} is {_kind(self.value)}, expected a word")
        return self.value

    def integer(self, what: str, least: int = 1, most: int = 2**31 - 1) -> int:
        """Return a scalar as an integer; FormatError when it is none or out of bounds."""
        text = self.text(what)
        if not (text.isascii() and text.isdigit() and len(text) < 19 and least <= int(text) <= most):
            raise self.fail(f"{what} is {text[:40]!r}, expected an integer from {least} to {most}")
        return int(text)


def _kind(value: object) -> str:
    if isinstance(value, str):
        return repr(value[:40])
    return "a list" if isinstance(value, list) else "a mapping"


def read_yaml(path: str) -> Yaml:
    """Read the first document of a YAML file."""
    try:
        import yaml
    except ImportError:
        raise UnsupportedError(f"{path}: reading YAML needs PyYAML: pip install pyyaml") from None

    text = read_bytes(path, MAX_BYTES).decode("utf-8", "replace")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # Events first: the composer would follow aliases, and deep nesting would exhaust its stack.
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            at = event.start_mark.line + 1 if event.start_mark else None
            if isinstance(event, yaml.AliasEvent):
                raise FormatError(path, at, "an alias (*name), expected the text itself")
            if depth > MAX_DEPTH:
                raise FormatError(path, at, f"more than {MAX_DEPTH} levels of nesting")
        documents = yaml.compose_all(text, Loader=loader)
        node = next(iter(documents), None)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or "characters YAML does not allow"
        raise FormatError(path, mark.line + 1 if mark else None, f"no YAML: {what}") from None
    if node is None:
        raise FormatError(path, None, "no document, expected some content")
    return _convert(path, node)


def _convert(path: str, node: Any) -> Yaml:
    import yaml

    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        return Yaml(path, line, node.value)
    if isinstance(node, yaml.SequenceNode):
        return Yaml(path, line, [_convert(path, item) for item in node.value])
    pairs: dict[str, Yaml] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.value in pairs:
            raise FormatError(path, key.start_mark.line + 1, "a key twice or no word, expected distinct keys")
        pairs[key.value] = _convert(path, value)
    return Yaml(path, line, pairs)
