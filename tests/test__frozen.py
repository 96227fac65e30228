"""`frozen` gives what a frozen dataclass with slots gives."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from hopbytes._frozen import field_names, frozen


@frozen
class Point:
    """A point with a name that comparisons leave out."""

    x: int
    y: int = 2
    name: str = field(default="", compare=False)
    tags: list[str] = field(default_factory=list, compare=False, repr=False)


@frozen
class NamedPoint(Point):
    """A class with a frozen base."""

    z: int = 3


@dataclass(frozen=True, slots=True)
class UserPoint(Point):
    """A subclass as a user writes it."""

    z: int = 3


@frozen(eq=False)
class Identity:
    """Objects that equal only themselves."""

    x: int


@dataclass(frozen=True, slots=True)
class Twin:
    """The same fields as those of a point, made by the standard library."""

    x: int
    y: int = 2
    name: str = field(default="", compare=False)
    tags: list[str] = field(default_factory=list, compare=False, repr=False)


@pytest.mark.parametrize("kind", [Point, NamedPoint, UserPoint])
def test_an_object_cannot_be_changed(kind):
    point = kind(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 5
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    with pytest.raises((AttributeError, TypeError)):
        point.unknown = 5
    assert not hasattr(point, "__dict__")
    assert point.x == 1


def test_the_text_is_that_of_a_dataclass():
    assert repr(Point(1, name="a")) == repr(Twin(1, name="a")).replace("Twin", "Point")
    assert repr(NamedPoint(1)) == "NamedPoint(x=1, y=2, name='', z=3)"


def test_objects_are_compared_and_hashed_by_their_fields():
    assert Point(1, name="a") == Point(1, name="b") != Point(2)
    assert Point(1) != NamedPoint(1)
    assert Point(1) != Twin(1)
    assert hash(Point(1, name="a")) == hash(Point(1, name="b"))
    assert {NamedPoint(1): "found"}[NamedPoint(1)] == "found"


def test_without_eq_an_object_equals_only_itself():
    one = Identity(1)
    assert one == one
    assert one != Identity(1)
    assert len({one, Identity(1)}) == 2


@pytest.mark.parametrize("kind", [Point, NamedPoint, UserPoint])
def test_the_tools_of_dataclasses_work(kind):
    point = kind(1, tags=["t"])
    assert replace(point, y=7) == kind(1, 7)
    assert asdict(point)["tags"] == ["t"]
    assert field_names(point) == field_names(kind) == tuple(one.name for one in fields(kind))
    assert kind(1).tags is not kind(1).tags
    for again in (pickle.loads(pickle.dumps(point)), copy.copy(point), copy.deepcopy(point)):
        assert again == point
        assert again.tags == ["t"]


def test_missing_arguments_are_refused_like_those_of_a_function():
    with pytest.raises(TypeError, match="x"):
        Point()
    with pytest.raises(TypeError, match="unknown"):
        Point(1, unknown=2)
