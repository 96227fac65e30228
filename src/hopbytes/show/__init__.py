"""What people see of patterns, machines and mappings: pictures, tables, texts and the page of a report."""
