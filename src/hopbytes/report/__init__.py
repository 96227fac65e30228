"""Texts, tables and pictures about mappings, machines, patterns and benchmark runs."""
