"""Mapping of graphs that arrive in blocks of vertices and are never held as a whole."""
