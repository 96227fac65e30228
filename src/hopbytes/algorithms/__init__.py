"""Mappers and refiners: one base, one file per algorithm."""
