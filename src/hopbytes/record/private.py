"""Checks that only the user can change a folder, since the library kept there runs with the user's rights."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator

from hopbytes.errors import UnsupportedError

#: Number of symbolic links on a path from which it is considered to be a cycle.
MOST_LINKS = 40
#: File with the user number that the kernel shows for users that do not exist here, as in a container.
_OVERFLOW = "/proc/sys/kernel/overflowuid"


def check_private(folder: str) -> None:
    """Refuse a folder in which another user could create or replace a library that will be preloaded.

    The folder must belong to the user, and others must not be able to write to it. The same holds for every
    folder on the path, symbolic links included, where the owner may also be root. A folder with sticky bit
    may be writable by others, since they cannot rename the files of other users in it.
    """
    trusted = {0, os.geteuid(), _unknown_user()}
    for place in steps(os.path.abspath(folder)):
        about = os.lstat(place)
        if about.st_uid not in trusted:
            raise UnsupportedError(f"{place}: belongs to user {about.st_uid}, {_expected('')}")
        if stat.S_ISDIR(about.st_mode) and _others_write(about) and not about.st_mode & stat.S_ISVTX:
            raise UnsupportedError(f"{place}: others can write there, {_expected(place)}")
    about = os.stat(folder)
    if about.st_uid != os.geteuid():
        raise UnsupportedError(f"{folder}: belongs to user {about.st_uid}, {_expected('')}")
    if _others_write(about):
        raise UnsupportedError(f"{folder}: others can write there, {_expected(folder)}")


def is_private_file(path: str) -> bool:
    """Return whether a regular file exists that belongs to the user and that others cannot write."""
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not _others_write(about)


def steps(path: str) -> Iterator[str]:
    """Yield all folders and symbolic links on an absolute path, the path itself last."""
    left, here, links = [part for part in path.split("/") if part], "/", 0
    yield here
    while left:
        part = left.pop(0)
        if part in (".", ".."):
            here = os.path.dirname(here) if part == ".." else here
            continue
        here = os.path.join(here, part)
        yield here
        if os.path.islink(here):
            links += 1
            if links > MOST_LINKS:
                raise UnsupportedError(f"{path}: symbolic links form a cycle, expected a folder")
            target = os.readlink(here)
            here = "/" if target.startswith("/") else os.path.dirname(here)
            left = [part for part in target.split("/") if part] + left


def _expected(place: str) -> str:
    closed = f"chmod go-w {place}, or " if place else ""
    where = f"a private folder ({closed}XDG_CACHE_HOME=FOLDER)"
    return f"and the interposer runs with your rights: expected {where}"


def _others_write(about: os.stat_result) -> bool:
    if about.st_mode & stat.S_IWOTH:
        return True
    return bool(about.st_mode & stat.S_IWGRP) and not _is_group_of_one(about.st_gid)


def _is_group_of_one(number: int) -> bool:
    """Return whether this user is the only member of a group; many systems have such a group per user."""
    if number == 0:
        return True
    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    return user.pw_gid == number and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _unknown_user() -> int:
    try:
        with open(_OVERFLOW, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0
