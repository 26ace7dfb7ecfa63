"""The wires: for each protocol how requests are written and streams are read; pure, and no vendor is named."""
