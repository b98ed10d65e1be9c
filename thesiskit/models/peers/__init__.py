"""Methods that one would take instead, from other packages."""
