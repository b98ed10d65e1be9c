"""The experiments of chapter 2: select features, fit with and without the correction, predict."""
