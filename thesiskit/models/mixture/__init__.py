"""The binary mixture model (thesis, chapter 2): its posterior, its chains, and what they show."""
