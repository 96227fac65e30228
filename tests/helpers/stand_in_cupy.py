"""A stand-in for CuPy: arrays of NumPy, and kernels whose CUDA text g++ compiles as loops over threads."""

import ctypes
import hashlib
import subprocess
import types
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
inline int __clzll(long long x) { return __builtin_clzll(static_cast<unsigned long long>(x)); }
extern "C" void set_thread(unsigned block, unsigned thread, unsigned blocks, unsigned threads) {
  blockIdx.x = block, threadIdx.x = thread, gridDim.x = blocks, blockDim.x = threads;
}
"""


class OnGpu:
    """An array that shows itself as one on a GPU."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.__cuda_array_interface__ = array, array.__array_interface__


class StandIn(types.ModuleType):
    """The module."""

    def __init__(self, folder: Path, gpus: int = 1) -> None:
        super().__init__("cupy")
        self._folder = folder
        runtime = types.SimpleNamespace(getDeviceCount=lambda: gpus)
        self.cuda = types.SimpleNamespace(runtime=runtime)

    def __getattr__(self, name: str) -> object:
        return getattr(np, name)

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
        for at in range(grid[0]):
            for thread in range(block[0]):
                library.set_thread(at, thread, grid[0], block[0])
                getattr(library, name)(*given)

    return launch
