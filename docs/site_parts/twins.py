"""Which plain Python function defines what the compiled part of an algorithm has to return.

A test compares each of them with the compiled one on random input. Algorithms that are not named are made of
the partitioner or of searches without a twin: their result is evaluated by the definition of J after a run.
"""

TWINS = {
    "deep_multisection": ("parallel_reference", "move_synchronously"),
    "treematch": ("grouping_reference", "group_objects"),
    "mueller_merbach": ("slots_reference", "place_greedily"),
    "greedy_all_c": ("slots_reference", "place_greedily"),
    "n_square": ("slots_reference", "pair_search"),
    "n_p": ("slots_reference", "pair_search"),
    "n_cd": ("slots_reference", "pair_search"),
    "chains": ("slots_reference", "chain_search"),
    "rcm": ("graph_reference", "reverse_cuthill_mckee"),
    "ug": ("groups", "hop_greedy"),
    "uwh": ("groups", "hop_swap"),
    "uth": ("groups", "hop_swap"),
    "umc": ("routed_groups", "congestion_swap"),
    "ummc": ("routed_groups", "congestion_swap"),
    "ptram": ("routed_groups", "hybrid_greedy"),
    "refine_ptram": ("routed_groups", "hottest_link_refine"),
}
