"""Objective functions of mappings, one per file; base.py holds their base class."""
