"""The command line: `headrace …`, `python -m headrace …`. Its code prints; nothing below it does."""
