"""Headrace as a server; nothing is imported before it is used."""
