"""Topology-aware process mapping."""
