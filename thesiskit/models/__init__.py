"""The models, with their priors, quadrature and selection.  They know no files and no configs."""
