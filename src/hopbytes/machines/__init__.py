"""Machines: what is common to them, kinds of them, and the part of one that a job has."""
