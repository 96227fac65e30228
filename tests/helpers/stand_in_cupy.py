"""A stand-in for CuPy: arrays of NumPy, and kernels whose CUDA text g++ compiles as loops over threads."""

import contextlib
import ctypes
import hashlib
import subprocess
import types
from collections.abc import Callable
from pathlib import Path

import numpy as np

#: What CUDA has and C++ has not, for one thread after the other.
CUDA = """
#define __CUDACC__
#define __global__
#define __device__
struct Three { unsigned x; };
static Three blockIdx, threadIdx, blockDim, gridDim;
template <class T, class U> T atomicAdd(T* to, U more) { const T held = *to; *to += more; return held; }
template <class T> T atomicMin(T* to, T value) {
  const T held = *to;
  if (value < held) *to = value;
  return held;
}
// Every thread is a warp of its own.
inline unsigned __activemask() { return 1; }
template <class T> unsigned __match_any_sync(unsigned, T) { return 1; }
template <class T> T __shfl_sync(unsigned, T value, int) { return value; }
template <class T> T __shfl_xor_sync(unsigned, T, int) { return 0; }
inline int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
inline int __clzll(long long x) { return __builtin_clzll(static_cast<unsigned long long>(x)); }
extern "C" void set_thread(unsigned thread, unsigned threads) {
  blockIdx.x = thread, threadIdx.x = 0, gridDim.x = threads, blockDim.x = 1;
}
"""


class OnHost(np.ndarray):
    """An array to which one of the host is copied."""

    device = contextlib.nullcontext()

    def set(self, array: np.ndarray, stream: object) -> None:
        assert stream is not None
        self[...] = array


class OnGpu:
    """An array that shows itself as one on a GPU."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.__cuda_array_interface__ = array, array.__array_interface__


#: The launches of the stream that is captured.
recorded: list[Callable[[], None]] | None = None


class Stream:
    """A stream that records launches."""

    def __init__(self, *, non_blocking: bool) -> None:
        assert non_blocking

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def begin_capture(self) -> None:
        global recorded
        recorded = []

    def end_capture(self) -> object:
        global recorded
        steps, recorded = recorded, None
        return types.SimpleNamespace(launch=lambda: [step() for step in steps])


class StandIn(types.ModuleType):
    """The module."""

    def __init__(self, folder: Path, gpus: int = 1) -> None:
        super().__init__("cupy")
        self._folder = folder
        runtime = types.SimpleNamespace(getDeviceCount=lambda: gpus)
        stream = types.SimpleNamespace(synchronize=lambda: None)
        self.cuda = types.SimpleNamespace(
            runtime=runtime, Stream=Stream, get_current_stream=lambda: stream
        )

    def __getattr__(self, name: str) -> object:
        return getattr(np, name)

    def empty(self, shape: object, dtype: object = float) -> np.ndarray:
        return np.zeros(shape, dtype).view(OnHost)

    def asnumpy(self, array: np.ndarray) -> np.ndarray:
        return array

    def asarray(self, given: object) -> np.ndarray:
        return given.array if isinstance(given, OnGpu) else np.asarray(given)

    def RawModule(self, code: str, options: tuple[str, ...]) -> object:  # noqa: N802
        assert "-fmad=false" in options
        source = self._folder / "kernels.cpp"
        source.write_text(CUDA + code)
        library = self._folder / f"{hashlib.sha256(code.encode()).hexdigest()}.so"
        words = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(words, check=True)
        loaded = ctypes.CDLL(str(library))
        return types.SimpleNamespace(compile=lambda: None, get_function=lambda name: _kernel(loaded, name))


def _kernel(library: ctypes.CDLL, name: str) -> object:
    def launch(grid: tuple[int], block: tuple[int], arguments: tuple[object, ...]) -> None:
        given = []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                assert argument.flags.c_contiguous
                given.append(ctypes.c_void_p(argument.ctypes.data))
            else:
                assert argument.dtype.itemsize == 8  # as a kernel reads it
                given.append(ctypes.c_uint64(int(argument) % 2**64))

        def run() -> None:
            for thread in range(grid[0] * block[0]):
                library.set_thread(thread, grid[0] * block[0])
                getattr(library, name)(*given)

        recorded.append(run) if recorded is not None else run()

    return launch
