"""python -m thesiskit: the command line."""

from thesiskit.cli import main

main(prog_name="thesiskit")
