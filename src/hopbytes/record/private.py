"""Folders that nobody but the user can change: what is kept there runs with the user's rights."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator

from hopbytes.errors import UnsupportedError

#: Links on the way to a folder before it is taken for endless.
MOST_LINKS = 40
#: How the kernel shows users that do not exist where this runs, as in a container.
_OVERFLOW = "/proc/sys/kernel/overflowuid"


def check_private(folder: str) -> None:
    """Refuse a folder where another user could put, or exchange, a library that is going to be preloaded.

    The folder has to be the user's own and closed for others. Folders on the way to it, links followed, have
    to be the user's or root's and closed for others, unless the sticky bit keeps these from renaming what is
    not theirs; then a link has to be the user's or root's as well.

    Parameters
    ----------
    folder : str
        One that exists.

    Raises
    ------
    UnsupportedError
        Names the place and what to do.
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
    """Tell whether a plain file is there that is the user's and closed for others."""
    try:
        about = os.lstat(path)
    except FileNotFoundError:
        return False
    return stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not _others_write(about)


def steps(path: str) -> Iterator[str]:
    """Yield all folders and links that are passed on the way to an absolute path, the path itself last.

    Raises
    ------
    UnsupportedError
        Links that never end.
    """
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
                raise UnsupportedError(f"{path}: links that never end, expected a folder")
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
    """Tell whether a group holds this user alone, as systems make one per user and open files for it."""
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
