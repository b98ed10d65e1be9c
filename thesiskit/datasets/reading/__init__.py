"""What readers of files have in common: text, cells between delimiters, and cells as numbers."""
