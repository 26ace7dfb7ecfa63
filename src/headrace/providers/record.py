"""What the catalogue says of a provider, and what a model's id resolves to.

The rule of this file: both are values; a key stands in them only as a `Secret`.
"""

from __future__ import annotations

import msgspec

from headrace.providers.secret import Secret
from headrace.providers.signing import Signing
from headrace.wire.profile import DEFAULT, Profile


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """One provider, as data.

    Attributes:
        id: what stands before the `:` of a model's id.
        name: what people call it.
        protocol: the protocol that it speaks here.
        base_url: where its API begins, version included; None if there is no usual place. `{region}` stands for the region that the
            environment names.
        key_variables: environment variables with its key, in order, beside `<ID>_API_KEY`.
        base_url_variables: pairs of a further variable with its address and what has to follow that address.
        profile: what its server takes and wants.
        aliases: other names for the id.
        docs_url: where its API is described.
        needs_key: whether it answers nobody without a key.
        is_in_process: whether it is started by ourselves, so that neither an address nor a key is looked for.
        key_header: the header that carries the key.
        key_prefix: what stands before the key there.
        signing_service: the service that requests are signed for (SigV4) where there is no key but AWS credentials; "" if it signs nothing.
    """

    id: str
    name: str
    protocol: str = "openai-chat"
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    base_url_variables: tuple[tuple[str, str], ...] = ()
    profile: Profile = DEFAULT
    aliases: tuple[str, ...] = ()
    docs_url: str | None = None
    needs_key: bool = True
    is_in_process: bool = False
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    signing_service: str = ""

    @property
    def variable_stem(self) -> str:
        """The id as the beginning of an environment variable's name."""
        return self.id.upper().replace("-", "_").replace(".", "_")

    @property
    def all_key_variables(self) -> tuple[str, ...]:
        """Every variable that may hold its key, in the order in which they are looked at."""
        return tuple(dict.fromkeys((f"{self.variable_stem}_API_KEY", *self.key_variables)))


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where a model is, and how to talk to it.

    Attributes:
        provider: the provider's id; for an address that the catalogue does not know, its host and port.
        protocol: the protocol to speak.
        model: the model's name, as the provider knows it.
        base_url: where the API begins, without a slash at the end; None for a model in this process.
        api_key: the key, or None.
        profile: what the server takes and wants.
        key_header: the header that carries the key.
        key_prefix: what stands before the key there.
        signing: with what each request is signed, where there is no key.
    """

    provider: str
    protocol: str
    model: str
    base_url: str | None = None
    api_key: Secret | None = None
    profile: Profile = DEFAULT
    key_header: str = "authorization"
    key_prefix: str = "Bearer "
    signing: Signing | None = None

    def auth_headers(self) -> tuple[tuple[str, str], ...]:
        """Return the header with the key, in the clear, for the transport alone; nothing where there is no key."""
        if self.api_key is None:
            return ()
        return ((self.key_header, self.key_prefix + self.api_key.reveal()),)
