"""The floor where bytes leave and enter: transports, retry rules, redaction, recordings.

Nothing here knows a message or a protocol: a request is bytes, and so is an answer. This file imports nothing, so
that the pure modules (`retry`, `redact`) do not bring the network with them.
"""
