"""Mappers and refiners: their interfaces in one module, and one file per algorithm."""
