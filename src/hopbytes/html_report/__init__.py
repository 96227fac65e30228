"""The report of a mapping as one page of HTML: verdict, charts, tables, commands."""
