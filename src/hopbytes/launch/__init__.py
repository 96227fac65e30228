"""Starting programs on a mapping: parsing the command, inserting options, and checking where ranks run."""
