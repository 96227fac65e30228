"""Functions and classes that several mappers and refiners share."""
