"""What several mappers and refiners use and nobody asks for by name."""
