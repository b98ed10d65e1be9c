"""The page on which one looks into the groups of patterns of a model."""
