"""Where the arrays of a mapping are, and what runs the kernels of ``core/device`` there: CPU or GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from hopbytes._arrays import Int64
from hopbytes._frozen import frozen
from hopbytes.errors import MissingPackageError, UnsupportedError
from hopbytes.kernels.base import compiled

#: What a caller may ask for; ``auto`` is a GPU where there is one.
DEVICES = ("cpu", "cuda", "auto")
#: Threads of a block on a GPU.
BLOCK = 128
#: Bytes of an array of which several threads send parts.
LARGE = 2**22


@frozen(eq=False)
class Device:
    """Arrays of NumPy or CuPy, and kernels that run where they are."""

    name: str
    xp: Any  # the module numpy or cupy
    threads: int  # of the CPU
    #: Called with the name of a kernel, the number of its items, and its arguments; None is a null pointer.
    #: Returns what runs the kernel with these arguments.
    bound: Callable[..., Callable[[], None]]
    #: Returns what runs such steps one after the other.
    together: Callable[[Sequence[Callable[[], None]]], Callable[[], None]]

    def run(self, name: str, items: int, *arguments: Any) -> None:
        """Run a kernel once."""
        self.bound(name, items, *arguments)()

    def of_host(self, array: Any) -> Any:
        """Return an array of the host on the device; threads fill the memory that it is sent from."""
        if self.xp is np or not isinstance(array, np.ndarray) or array.nbytes < LARGE:
            return self.xp.asarray(array)
        from concurrent.futures import ThreadPoolExecutor

        there, stream = self.xp.empty(array.shape, array.dtype), self.xp.cuda.get_current_stream()
        size, held = -(-len(array) // self.threads), []

        def send(begin: int) -> None:
            part = array[begin : begin + size]
            locked = import_module("cupyx").empty_pinned(part.shape, array.dtype)
            locked[:] = part
            with there.device:  # each thread has a current GPU of its own
                there[begin : begin + size].set(locked, stream)
            held.append(locked)  # until it is sent

        try:
            with ThreadPoolExecutor(self.threads) as threads:
                list(threads.map(send, range(0, len(array), size)))
        except RuntimeError:  # the system locks no more memory, or starts no thread
            return self.xp.asarray(array)
        finally:
            stream.synchronize()
        return there

    def to_host(self, array: Any) -> Any:
        """Return the array as one of NumPy."""
        return array if self.xp is np else self.xp.asnumpy(array)


def cpu(threads: int = 1, order: Callable[[int], Int64] | None = None) -> Device:
    """Return the CPU, where a kernel is a loop; `order` returns a permutation of so many items."""
    in_turn = np.empty(0, np.int64)

    def bound(name: str, items: int, *arguments: Any) -> Callable[[], None]:
        def run() -> None:
            compiled.run_kernel(name, items, arguments, in_turn if order is None else order(items), threads)

        return run

    return Device("cpu", np, threads, bound, one_by_one)


def one_by_one(steps: Sequence[Callable[[], None]]) -> Callable[[], None]:
    """Return what calls the steps in turn."""

    def run() -> None:
        for step in steps:
            step()

    return run


def cuda(threads: int = 1) -> Device:
    """Return the current GPU of CuPy; UnsupportedError without CuPy, a driver, a GPU or NVRTC."""
    try:
        cupy: Any = import_module("cupy")
    except ImportError:
        what = "device cuda needs the package cupy, which is not installed: pip install 'cupy-cuda13x[ctk]'"
        raise MissingPackageError(what) from None
    try:
        found = int(cupy.cuda.runtime.getDeviceCount()) > 0
        bound = _launcher(cupy) if found else None
    except Exception as error:  # CuPy has types of its own for a missing driver and for missing libraries
        what = f"device cuda: {_line(error)}, expected a GPU, its driver and NVRTC"
        raise UnsupportedError(what) from None
    if bound is None:
        raise UnsupportedError("device cuda: no GPU was found, expected one")

    def together(steps: Sequence[Callable[[], None]]) -> Callable[[], None]:
        """Record the launches, so that the host launches all of them at once."""
        with cupy.cuda.Stream(non_blocking=True) as stream:
            stream.begin_capture()
            one_by_one(steps)()
            graph = stream.end_capture()
        return partial(_launched, graph, steps)  # the steps hold the arrays

    return Device("cuda", cupy, threads, bound, together)


def _launched(graph: Any, steps: Sequence[Callable[[], None]]) -> None:
    graph.launch()


@cache
def _launcher(cupy: Any) -> Callable[..., Callable[[], None]]:
    """Return what launches the kernels, after their compilation."""
    # Without contracted products the compiler computes what a processor does; there are only integers.
    module = cupy.RawModule(code=compiled.device_source(), options=("-std=c++17", "-fmad=false"))
    module.compile()

    def bound(name: str, items: int, *arguments: Any) -> Callable[[], None]:
        given = [np.uint64(0) if a is None else np.int64(a) if isinstance(a, int) else a for a in arguments]
        if items == 0:
            return lambda: None
        return partial(
            module.get_function(name), (-(-items // BLOCK),), (BLOCK,), (np.int64(items), *given)
        )

    return bound


def chosen(name: str, threads: int = 1) -> tuple[Device, str]:
    """Return the device of a name, and why it is not the GPU if ``auto`` found none.

    >>> chosen("cpu")[0].name
    'cpu'
    """
    if name not in DEVICES:
        raise UnsupportedError(f"device {name!r}, expected one of {', '.join(DEVICES)}")
    if name == "cpu":
        return cpu(threads), ""
    try:
        return cuda(threads), ""
    except UnsupportedError as error:
        if name == "cuda":
            raise
        return cpu(threads), str(error)


@contextmanager
def enough_memory(device: Device) -> Iterator[None]:
    """Turn a lack of memory of the GPU into an error of one line."""
    try:
        yield
    except MemoryError as error:  # that of CuPy is a subclass
        if device.name == "cpu":
            raise
        raise UnsupportedError(f"device cuda: {_line(error)}, expected more memory on the GPU") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
