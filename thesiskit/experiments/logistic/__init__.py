"""The experiments of chapter 3: sequences and discrete features, logistic models."""
