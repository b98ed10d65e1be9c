"""Every number that the thesis prints, held against replicates of its experiments."""
