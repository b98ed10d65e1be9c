"""Logistic and linear models with interactions of high order (thesis, chapter 3)."""
