"""The command `entropie`: one file per group of commands, which import heavy parts only when they run."""
