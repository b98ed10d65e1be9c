"""The models, and what they need: priors, quadrature, selection.  No files, no configs."""
