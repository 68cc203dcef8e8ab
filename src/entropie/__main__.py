"""`python -m entropie`: the command line."""

from entropie.cli import start

start()
