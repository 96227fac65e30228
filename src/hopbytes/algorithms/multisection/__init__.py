"""What hierarchical multisection cuts, how hard it works on each level, and who cuts what when."""
