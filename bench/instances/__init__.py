"""Graphs, machines and cases: what is mapped."""
