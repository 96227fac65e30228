"""What ``bench/RESULTS.md`` is made of: rows that are kept, targets, tables, pictures."""
