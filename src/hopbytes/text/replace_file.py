"""A new file that replaces another when it is complete, and is removed otherwise."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from hopbytes.text.leftovers import name_of_process, remove_left

#: Attribute of a file that hopbytes wrote, for content that cannot say so; not every file system keeps it.
#: Its value is the state of the file, so that a file that was changed afterwards is not taken for ours.
WRITTEN = "user.hopbytes"

#: Seconds that one writer of several files waits for another one in the same folder.
LONGEST_WAIT = 5.0


class Part:
    """A file that is being written for `target`, in the same folder."""
    # Where the file system can, it has no name until it is complete, so that nothing is left of it however
    # the process ends. Elsewhere it is called ``.NAME.….part``.

    def __init__(self, target: str, mode: int) -> None:
        folder, name = os.path.split(target)
        self.target, self._folder, self._mode = target, folder or ".", mode
        self._name = os.path.join(folder, name_of_process(f".{name[:100]}.", ".part"))
        self._named = False
        self._descriptor = -1
        self._kept: int | None = None
        with contextlib.suppress(OSError):
            self._kept = stat.S_IMODE(os.stat(target).st_mode) & 0o777 | (mode & 0o100)
        unnamed = getattr(os, "O_TMPFILE", None)
        if unnamed is not None and os.path.exists("/proc/self/fd"):
            with contextlib.suppress(OSError):  # not every file system can
                self._descriptor = os.open(self._folder, os.O_RDWR | unnamed, mode)
        if self._descriptor < 0:
            self._descriptor = self._create()
        self._keep_mode(self._descriptor)

    def _keep_mode(self, descriptor: int) -> None:
        """Give the permissions of the file that is replaced, before anything is written."""
        if self._kept is not None:
            with contextlib.suppress(OSError):
                os.fchmod(descriptor, self._kept)

    def stream(self) -> BinaryIO:
        """Return a stream to write to; it leaves the file open when it is closed."""
        return os.fdopen(self._descriptor, "wb", closefd=False)

    def put_in_place(self) -> None:
        if not self._named:
            self._give_name()
        with contextlib.suppress(OSError, AttributeError):
            os.setxattr(self._name, WRITTEN, _state(self._name))
        os.replace(self._name, self.target)
        self._named = False

    def discard(self) -> None:
        """Remove what is not in place, and close it; may be called again."""
        if self._named:
            self._named = False
            with contextlib.suppress(OSError):
                os.unlink(self._name)
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            os.close(descriptor)

    def _create(self) -> int:
        # mkstemp would give mode 0600 to a file that is meant to be shared; this one follows the umask.
        remove_left(self._folder, f".{os.path.basename(self.target)[:100]}.", ".part")
        self._named = True
        return os.open(self._name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, self._mode)

    def _give_name(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            self._named = True  # recorded before the file exists, so that a signal in between removes it
            # With a folder given, os.link follows the link in /proc to the file itself.
            os.link(f"/proc/self/fd/{self._descriptor}", self._name, src_dir_fd=folder)
        except OSError:  # names cannot be given later here: write it once more
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            # It is closed below, where its file is still open.
            whole = open(self._descriptor, "rb", closefd=False)  # noqa: SIM115
            with whole, os.fdopen(self._create(), "wb") as copy:
                self._keep_mode(copy.fileno())
                shutil.copyfileobj(whole, copy)
        finally:
            os.close(folder)


def says_written(path: str) -> bool:
    """Tell whether a file is as hopbytes wrote it, by its attribute, which a copy has not."""
    try:
        return os.getxattr(path, WRITTEN) == _state(path)
    except (OSError, AttributeError):
        return False


def _state(path: str) -> bytes:
    status = os.stat(path)
    return b"%d %d" % (status.st_size, status.st_mtime_ns)


@contextlib.contextmanager
def gone_if_killed(parts: Sequence[Part]) -> Iterator[None]:
    """Remove unfinished files when SIGTERM or SIGHUP ends the process meanwhile."""
    # A process that would die of the signal still does; handlers of others, ignored signals and other threads
    # than the first are left alone.
    import signal
    import threading

    def die(number: int, frame: object) -> None:
        for part in parts:
            part.discard()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    changed = []
    if threading.current_thread() is threading.main_thread():
        caught = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
        changed = [number for number in caught if signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, die)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def alone_in(folders: Sequence[str]) -> Iterator[None]:
    """Keep other writers of several files out of folders, so that files of one set stay together."""
    # Where a folder cannot be locked, or is for longer than LONGEST_WAIT, the writer goes on without.
    try:
        import fcntl
    except ImportError:  # not on this system
        yield
        return
    with contextlib.ExitStack() as stack:
        deadline = time.monotonic() + LONGEST_WAIT
        for folder in sorted(set(folders)):
            with contextlib.suppress(OSError):
                descriptor = os.open(folder or ".", os.O_RDONLY)
                stack.callback(os.close, descriptor)  # which unlocks
                while not _locked(fcntl, descriptor) and time.monotonic() < deadline:
                    time.sleep(0.01)
        yield


def _locked(fcntl: object, descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # type: ignore[attr-defined]
    except BlockingIOError:
        return False
    return True
