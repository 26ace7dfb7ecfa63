"""Headrace: a model's stream carried to an agent, whole and in order."""
