"""Graphs that are read from disk in blocks of vertices, as often as needed, and never held as a whole."""
