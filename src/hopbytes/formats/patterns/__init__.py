"""Formats of communication graphs, one per file (``graph_NAME.py``), and what they share."""
