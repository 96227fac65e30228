"""Metrics of a mapping, compared with the launcher's default mapping and random mappings."""
