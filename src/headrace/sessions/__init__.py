"""Runs and conversations that last: the event log, its stores, and what goes on after a crash."""
