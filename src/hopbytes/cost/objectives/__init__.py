"""Objective functions of mappings; comm_cost.py has their base class."""
