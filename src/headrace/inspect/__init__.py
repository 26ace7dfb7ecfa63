"""The inspector: what one recorded stream was, event by event, and what was made of it."""
