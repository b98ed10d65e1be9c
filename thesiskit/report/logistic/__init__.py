"""Tables and figures of chapter 3."""
