"""Text for people: tables of metrics and machines."""
