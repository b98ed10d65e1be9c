"""Result files: arrays, draws, and records of how they were made."""
