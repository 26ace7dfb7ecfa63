"""Models: the shell that streams, and the models that need no network."""
