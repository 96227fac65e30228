"""Let a verb take a group of options as one parameter, while the command line sees each option."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def spread_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Return `verb` with each parameter that is a dataclass replaced by the fields of that dataclass."""
    groups: dict[str, type[Any]] = {}
    parameters: list[inspect.Parameter] = []
    # typing.get_type_hints of Python 3.10 wraps the types of parameters with the default None in Optional.
    hints = inspect.get_annotations(verb, eval_str=True)
    for name, parameter in inspect.signature(verb).parameters.items():
        kind = hints[name]
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            parameters += _fields_as_parameters(kind)
        else:
            parameters.append(parameter.replace(annotation=kind))

    def with_groups(**values: Any) -> None:
        for name, kind in groups.items():
            values[name] = kind(**{field.name: values.pop(field.name) for field in dataclasses.fields(kind)})
        verb(**values)

    # Keyword-only parameters let an argument without default follow a group.
    shown = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    with_groups.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {p.name: p.annotation for p in shown}
    with_groups.__name__, with_groups.__doc__ = verb.__name__, verb.__doc__
    return with_groups


def _fields_as_parameters(group: type[Any]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )
        for field in dataclasses.fields(group)
    ]
