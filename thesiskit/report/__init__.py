"""Tables, figures and pages, made from result folders."""
