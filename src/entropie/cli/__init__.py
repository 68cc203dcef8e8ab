"""The command `entropie`: one file per group of commands, which import heavy parts only when they run."""

from __future__ import annotations

__all__ = ["start"]


def start() -> None:
    """Heed signals before anything slow is loaded, then run the command line."""
    from entropie.cli import stopping

    stopping.heed()
    from entropie.cli.main import main

    main()
