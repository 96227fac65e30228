"""File formats: one per file, graph_* for patterns, place_* for placements (see base.py)."""
