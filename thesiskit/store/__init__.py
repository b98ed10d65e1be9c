"""Result files: arrays, draws, and records of what they were made from."""
