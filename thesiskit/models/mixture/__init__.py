"""The binary mixture model (thesis, chapter 2): its posterior, chains and diagnostics."""
