"""The compiled core with typed Python signatures; only this package and `engine` import ``hopbytes._core``.

Every function allocates the arrays that compiled code fills. With ``HOPBYTES_KERNELS=reference`` the
functions whose results are defined call their definitions in ``tests/reference`` instead (PYTHONPATH=tests).
There is no silent fallback: a missing core is an ImportError.
"""
from hopbytes.kernels.base import USE_REFERENCE, optional
from hopbytes.kernels.graph import (
    block_weights,
    check_csr,
    checked_sum,
    comm_cost_by_level,
    comm_cost_network,
    comm_cost_table,
    csr_from_arcs,
    find_asymmetry,
    group_sums,
    has_diagonal,
    induced_csr,
    list_schedule,
    parse_metis,
    parse_table,
    repair,
    reverse_cuthill_mckee,
    symmetrize,
)

__all__ = [
    "USE_REFERENCE",
    "block_weights",
    "check_csr",
    "checked_sum",
    "comm_cost_by_level",
    "comm_cost_network",
    "comm_cost_table",
    "csr_from_arcs",
    "find_asymmetry",
    "group_sums",
    "has_diagonal",
    "induced_csr",
    "list_schedule",
    "optional",
    "parse_metis",
    "parse_table",
    "repair",
    "reverse_cuthill_mckee",
    "symmetrize",
]
