"""Temporary files that carry the number of their process, so that what a killed one left can be removed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import shutil
import stat


def name_of_process(prefix: str, suffix: str = "") -> str:
    """Return a new name that says which process of which computer uses the file or folder."""
    return f"{prefix}{_here()}-{os.getpid()}-{secrets.token_hex(8)}{suffix}"


def remove_left(folder: str, prefix: str, suffix: str = "") -> None:
    """Remove files and folders called by :func:`name_of_process` whose processes of this user are gone."""
    # Processes of other computers, which may share the folder, and of other containers are not known here:
    # what they left stays. O(entries of the folder).
    named = re.compile(
        rf"{re.escape(prefix)}{_here()}-([0-9]{{1,10}})-[0-9a-f]{{16}}.{{0,16}}{re.escape(suffix)}", re.ASCII
    )
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder or "."):
            match = named.fullmatch(entry.name)
            if match is None or _runs(int(match[1])):
                continue
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode):
                    shutil.rmtree(entry.path, ignore_errors=True)
                elif status.st_uid == os.getuid() and stat.S_ISREG(status.st_mode):
                    os.unlink(entry.path)


def _here() -> str:
    """Return a word for this computer and its numbering of processes."""
    space = ""
    with contextlib.suppress(OSError):
        space = str(os.stat("/proc/self/ns/pid").st_ino)
    return hashlib.sha256(f"{os.uname().nodename}\0{space}".encode()).hexdigest()[:8]


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
