"""Tables and figures of chapter 2."""
