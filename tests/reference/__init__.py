"""Reference implementations in plain Python of the kernels whose results are defined; tests compare both.

They are slow and simple. Their signatures are those of the compiled core (arrays are passed in and filled,
and counts are returned).

``HOPBYTES_KERNELS=reference PYTHONPATH=tests hopbytes …`` runs them in place of the compiled ones.
"""

from reference.best_swap_reference import best_swap
from reference.changing_reference import changing_pairs
from reference.cost_reference import (
    comm_cost_network,
    comm_cost_table,
    group_sums,
    volume_by_level,
)
from reference.fair_flows_reference import fair_flows
from reference.graph_reference import (
    block_weights,
    check_csr,
    csr_from_arcs,
    find_asymmetry,
    has_diagonal,
    induced_csr,
    reverse_cuthill_mckee,
    symmetrize,
    weights_uneven,
    wide_sum,
)
from reference.grouping_reference import group_objects
from reference.leaders_reference import (
    hybrid_after_each,
    peak_after_each,
    ptram_order,
    sum_over_routes,
)
from reference.routes_reference import (
    arcs_over_link,
    distance_table,
    hop_histogram,
    hop_table,
    link_amounts,
    route_hops,
    route_links,
    route_visits,
    shortest_table,
    summarize_links,
    unit_traffic,
)
from reference.slots_reference import chain_search, pair_search, place_greedily
from reference.stream_reference import (
    stream_assign,
    stream_check,
    stream_cluster,
    stream_pairs,
    stream_refine,
)
from reference.text_reference import parse_metis, parse_real_table, parse_table
from reference.waiting_reference import replay_waiting

__all__ = [
    "arcs_over_link",
    "best_swap",
    "block_weights",
    "chain_search",
    "changing_pairs",
    "check_csr",
    "comm_cost_network",
    "comm_cost_table",
    "csr_from_arcs",
    "distance_table",
    "fair_flows",
    "find_asymmetry",
    "group_objects",
    "group_sums",
    "has_diagonal",
    "hop_histogram",
    "hop_table",
    "hybrid_after_each",
    "induced_csr",
    "link_amounts",
    "pair_search",
    "parse_metis",
    "parse_real_table",
    "parse_table",
    "peak_after_each",
    "place_greedily",
    "ptram_order",
    "replay_waiting",
    "reverse_cuthill_mckee",
    "route_hops",
    "route_links",
    "route_visits",
    "shortest_table",
    "stream_assign",
    "stream_check",
    "stream_cluster",
    "stream_pairs",
    "stream_refine",
    "sum_over_routes",
    "summarize_links",
    "symmetrize",
    "unit_traffic",
    "volume_by_level",
    "weights_uneven",
    "wide_sum",
]
