"""The Messages protocol: streams of content blocks, each numbered by the wire."""
