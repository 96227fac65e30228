"""Partitions by the built-in engine or by an external partitioner, behind the same checks."""
