"""map_arrays(): it maps a graph where its arrays are, on a GPU or in the memory of the CPU."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from hopbytes.algorithms.base import Bounds, Effort
from hopbytes.algorithms.mappers.device_rounds import DeviceRounds, prepared_distances
from hopbytes.engine.control import MOST
from hopbytes.engine.device import Device, chosen, enough_memory
from hopbytes.engine.device_rounds import DeviceDistances, DeviceGraph, cost_of, symmetric_graph
from hopbytes.errors import FormatError, UnsupportedError, WrongTypeError
from hopbytes.machines.distances import TableDistance
from hopbytes.model.allocation import Allocation, PlaceLike
from hopbytes.model.capacities import MAX_TOTAL_LOAD, exact_imbalance, load_bound, sum_of
from hopbytes.solve.map_tasks import warn_of
from hopbytes.solve.presets import fast, turbo
from hopbytes.util.checks import check_texts, thread_count, whole
from hopbytes.util.integers import MAX_TASKS, check_limit

#: Device types of DLPack whose memory a GPU reads.
_ON_GPU = (2, 13)


class ArrayMapping(NamedTuple):
    """A mapping of arrays."""

    pe: Any  #: int32[n], the PE of every task, in an array of the library of `indptr`, where that is
    comm_cost: int  #: J
    largest_load: int  #: of a PE
    bound: int  #: that was asked of the PE with the largest capacity
    device: str  #: ``"cpu"`` or ``"cuda"``


def map_arrays(
    indptr: Any,
    targets: Any,
    where: PlaceLike,
    *,
    volumes: Any = None,
    loads: Any = None,
    initial: Any = None,
    imbalance: float | str | Fraction = 0.03,
    preset: str = "turbo",
    device: str | None = None,
    threads: int | None = None,
    seed: int = 0,
) -> ArrayMapping:
    """Map a graph whose arrays may be on a GPU, without a copy of them to the host.

    For programs that partition or repartition a graph which they have as arrays of NumPy, CuPy or PyTorch, or
    of any library with DLPack or ``__cuda_array_interface__``. Only graphs of about 100 vertices per PE, but
    at least 2^17, are copied to the host, where the coarsest graph is mapped.

    Parameters
    ----------
    indptr : integer array of n + 1
        Row pointers: the arcs out of task i are ``indptr[i]:indptr[i+1]``.
    targets : integer array of m
        Target of each arc, ascending within a row, without duplicates.
    where : Allocation, or an object that can be converted to one
        The k PEs, as for :func:`hopbytes.map_tasks`.
    volumes : integer array of m, optional
        Volume of each arc, >= 0; 1 each by default.
    loads : integer array of n, optional
        Load of each task, >= 0; 1 each by default.
    initial : integer array of n, optional
        A current mapping. It is improved; the result is no worse, and tasks stay where a move gains nothing.
    imbalance : float, str or Fraction
        As for :func:`hopbytes.map_tasks`.
    preset : {"turbo", "fast"}
        How the coarsest graph is mapped.
    device : {"cpu", "cuda", "auto"}, optional
        Where kernels run; by default where `indptr` is. Other arrays are copied there.
    threads : int, optional
        Threads of the CPU; by default one for each that this process may use.
    seed : int
        The same input and seed give the same bytes for any device and any `threads`.

    Returns
    -------
    ArrayMapping

    Raises
    ------
    FormatError
        Arrays contradict each other (length, order, range, negative values).
    UnsupportedError
        There is no GPU or not enough of its memory; fewer tasks than PEs; a value is out of range.
    WrongTypeError
        An array does not hold integers, or has several dimensions.
    ScaleError
        Sums of volumes times distances, or of loads, are too large for 64 bits.

    Warns
    -----
    HopbytesWarning
        A PE holds more than its bound, because of tasks with large loads; ``auto`` found no GPU; a task has
        so many more neighbours than others that the graph was copied to the host and mapped by the CPU.

    Notes
    -----
    O(rounds x (n + m)). Messages, fixed tasks and several loads per task are those of
    :func:`hopbytes.map_tasks`.

    Examples
    --------
    >>> import numpy as np
    >>> import hopbytes as hb
    >>> ring = np.array([[1, 7], [0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [0, 6]])
    >>> found = hb.map_arrays(np.arange(0, 17, 2), ring.ravel(), "node:2@10 core:2@1")
    >>> found.comm_cost, np.bincount(found.pe).tolist()
    (44, [2, 2, 2, 2])
    """
    makers = {"turbo": turbo, "fast": fast}
    check_texts(preset=preset)
    if preset not in makers:
        raise UnsupportedError(f"preset {preset!r} of arrays, expected turbo or fast")
    where, threads = Allocation.of(where), thread_count(threads)
    at, why = chosen(device or ("cuda" if _on_gpu(indptr) else "cpu"), threads)
    if at.name == "cpu" and any(_on_gpu(array) for array in (indptr, targets, volumes, loads, initial)):
        raise UnsupportedError(f"arrays on a GPU with device cpu{why and ': '}{why}, expected device cuda")
    mapper = makers[preset](device="auto").mapper
    assert isinstance(mapper, DeviceRounds)
    with enough_memory(at):
        start, adj, weight, load = _checked(at, indptr, targets, volumes, loads)
        n = len(load)
        if where.k < 2 or n < where.k:
            raise UnsupportedError(f"{n:,} tasks on {where.k:,} PEs, expected 2 PEs and a task for each")
        block = None if initial is None else _taken(at, "initial", initial, np.int32, n, where.k)
        graph = symmetric_graph(at, start, adj, weight, load)
        _, distances = prepared_distances(at, where, None, 0, threads)
        total = graph.total_weight if weight is None else max(graph.total_weight, int(weight.sum()))
        check_limit(f"volumes of {total} in all times distances", total * where.distance.largest, MOST)
        shares = np.ones(where.k, np.int64) if where.capacity is None else where.capacity
        bounds = Bounds(load_bound(None, int(load.sum()), shares, exact_imbalance(imbalance)).caps)
        effort = Effort(whole("seed", seed, 0), threads)
        if why:
            effort.notices.append(f"mapped by the CPU: {why}")
        pe = mapper.rounds(at, graph, where, distances, bounds, effort, block)
        if isinstance(where.distance, TableDistance):  # the search takes the mean of both directions
            distances = DeviceDistances(None, at.xp.asarray(where.distance.table.reshape(-1)), where.k)
        cost = cost_of(at, DeviceGraph(start, adj, weight, load), distances, pe)
        held = at.xp.zeros(where.k, np.int64)
        at.run("sum_loads", n, pe, load, held)
        over = int((held - at.xp.asarray(bounds.load)).max())
    if over > 0:
        effort.notices.append(f"a PE holds {over:,} more than its bound, since loads of tasks are large")
    warn_of(effort.notices, stacklevel=2)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(indptr, torch.Tensor):
        pe = torch.from_dlpack(pe)
    return ArrayMapping(pe, cost, int(held.max()), int(bounds.load.max()), at.name)


def _on_gpu(array: Any) -> bool:
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in _ON_GPU
    return hasattr(array, "__cuda_array_interface__")


def _checked(device: Device, indptr: Any, targets: Any, volumes: Any, loads: Any) -> tuple[Any, ...]:
    """Return the arrays on the device; they are checked there."""
    xp = device.xp
    start = _taken(device, "indptr", indptr, np.int64)
    n = len(start) - 1
    if not 0 <= n <= MAX_TASKS:
        raise FormatError("`indptr`", None, f"{n + 1} row pointers, expected at least 1")
    adj = _taken(device, "targets", targets, np.int32, None, max(n, 1))
    m = len(adj)
    if int(start[0]) != 0 or int(start[-1]) != m or bool((start[1:] < start[:-1]).any()):
        raise FormatError("`indptr`", None, f"expected numbers that ascend from 0 to the {m} targets")
    weight = None if volumes is None else _taken(device, "volumes", volumes, np.int64, m)
    load = xp.ones(n, np.int64) if loads is None else _taken(device, "loads", loads, np.int64, n)
    for name, values in (("volumes", weight), ("loads", load)):
        if values is None or len(values) == 0:
            continue
        if int(values.min()) < 0:
            raise FormatError(f"`{name}`", None, f"{int(values.min())}, expected integers >= 0")
        check_limit(f"{name} sum to {sum_of(values)}", sum_of(values), MAX_TOTAL_LOAD)
    bad = xp.full(1, n, np.int64)
    device.run("check_rows", n, start, adj, bad)
    if int(bad[0]) < n:
        what = f"row {int(bad[0])}, expected ascending targets without duplicates"
        raise FormatError("`targets`", None, what)
    return start, adj, weight, load


def _taken(
    device: Device, name: str, given: Any, kind: Any, length: int | None = None, below: int | None = None
) -> Any:
    """Return an array of integers on the device, without a copy if it is there and has this type."""
    xp = device.xp
    here = hasattr(given, "__dlpack__") and _on_gpu(given) == (device.name == "cuda")
    if here and not isinstance(given, xp.ndarray):
        array = xp.from_dlpack(given)
    else:
        array = device.of_host(given)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise WrongTypeError(f"{name} {array.dtype}{list(array.shape)}, expected a row of integers")
    if length is not None and len(array) != length:
        raise FormatError(f"`{name}`", None, f"{len(array)} numbers, expected {length}")
    if below is not None and len(array) and not 0 <= int(array.min()) <= int(array.max()) < below:
        what = f"{int(array.min())} to {int(array.max())}, expected 0 to {below - 1}"
        raise FormatError(f"`{name}`", None, what)
    return xp.ascontiguousarray(array.astype(kind, copy=False))
