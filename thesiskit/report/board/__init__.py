"""A study of several tables: methods compared table by table, and on average over the tables."""
