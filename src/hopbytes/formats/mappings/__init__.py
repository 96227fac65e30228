"""Formats of mappings, one per file (``mapping_NAME.py``), and what they share."""
