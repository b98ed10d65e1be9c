"""Compiled kernels, built from cython_ext/; each has a slow twin in tests/support/."""
