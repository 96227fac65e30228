"""What ``bench/RESULTS.md`` and ``bench/PROTOCOL.md`` are made of: kept rows, targets, tables, pictures."""
