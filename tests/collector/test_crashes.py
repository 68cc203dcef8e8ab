"""Killed at any moment: nothing that was confirmed is lost, nothing is counted twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import collector_made as made
import psycopg
from collector_kills import kill_often


def test_a_service_that_is_killed_loses_nothing_and_counts_nothing_twice(tmp_path):
    found = kill_often(tmp_path / "store", made.drinks(), tmp_path, kills=6)
    assert (found.lost, found.twice) == (0, 0)
    assert found.confirmed > 20  # however busy the cores are


def test_a_service_that_is_stopped_ends_in_order(tmp_path):
    stops = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    found = kill_often(tmp_path / "store", made.drinks(), tmp_path, kills=3, numbers=stops)
    assert (found.lost, found.twice) == (0, 0)
    assert {path.name for path in tmp_path.iterdir()} == {"store", "store.mark", f"{made.drinks().id[:8]}.json"}


def test_the_same_in_postgresql(postgres, tmp_path):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS entropie_collector CASCADE")
    found = kill_often(postgres, made.drinks(), tmp_path, kills=3)
    assert (found.lost, found.twice) == (0, 0)
    assert found.confirmed > 20


def test_a_store_that_dies_at_every_step_of_a_commit(tmp_path):
    script = Path(__file__).with_name("store_crashes.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30
