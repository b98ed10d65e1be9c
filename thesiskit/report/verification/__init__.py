"""Every number that the thesis prints, compared with replicates of its experiments."""
