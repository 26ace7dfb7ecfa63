"""A certificate for `localhost`, made for tests alone: it signs itself, and nothing outside of them trusts it."""

from __future__ import annotations

import ssl

CERTIFICATE = """
-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUNOLbLlA81LT4KWP65wtjD5wsBw8wCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDIwNTUxMFoYDzIxMjYxMTA2
MjA1NTEwWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASfuozFSb98FpJTLvcxkLx3t0H1PCPjWHpaREXX9yL4lJ+8wKRYvNpb
NAWXng21dEbWQeD6wS8fQht6Qg9pZXOFo28wbTAdBgNVHQ4EFgQU9gdBo9MBo8FM
/c4cwbAymU6lhpEwHwYDVR0jBBgwFoAU9gdBo9MBo8FM/c4cwbAymU6lhpEwGgYD
VR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZI
zj0EAwIDSAAwRQIhAIRVdu26rIygTS4O3ePAHkjTgKmUrkZtNNtqVrxNi0sGAiAE
DVH2TKnK6wfDyoKQXnNy0YcSEiG3bqNxTdDKJ/Fdxw==
-----END CERTIFICATE-----
"""
KEY = """
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqYdyknA5JirJnyB8
mQ04+zFwKrxf1CC9GNKhvUUHQBahRANCAASfuozFSb98FpJTLvcxkLx3t0H1PCPj
WHpaREXX9yL4lJ+8wKRYvNpbNAWXng21dEbWQeD6wS8fQht6Qg9pZXOF
-----END PRIVATE KEY-----
"""


def server_context(folder):
    """The context of a server, its files written into a folder; and the path of the certificate that a client has to trust."""
    certificate, key = folder / "localhost.pem", folder / "localhost.key"
    certificate.write_text(CERTIFICATE.lstrip())
    key.write_text(KEY.lstrip())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context, certificate
