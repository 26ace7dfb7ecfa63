"""Floor 1: parts, messages, chunks, and the fold that turns chunks into messages. Pure."""
