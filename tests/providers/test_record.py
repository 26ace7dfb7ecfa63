from headrace.providers.record import Endpoint, Provider
from headrace.providers.secret import Secret


def test_a_provider_is_looked_for_under_its_own_variable_first_and_each_once():
    provider = Provider(id="gemini-openai", name="G", key_variables=("GEMINI_API_KEY", "GEMINI_OPENAI_API_KEY"))
    assert provider.all_key_variables == ("GEMINI_OPENAI_API_KEY", "GEMINI_API_KEY")
    assert Provider(id="z.ai", name="Z").variable_stem == "Z_AI"


def test_an_endpoint_hands_out_its_key_only_as_a_header():
    endpoint = Endpoint(provider="p", protocol="openai-chat", model="m", api_key=Secret("sesame"))
    assert endpoint.auth_headers() == (("authorization", "Bearer sesame"),)
    assert "sesame" not in repr(endpoint)
    assert "sesame" not in str(endpoint)
    assert Endpoint(provider="p", protocol="openai-chat", model="m").auth_headers() == ()


def test_a_providers_key_may_stand_in_another_header():
    endpoint = Endpoint(provider="p", protocol="openai-chat", model="m", api_key=Secret("k"), key_header="api-key", key_prefix="")
    assert endpoint.auth_headers() == (("api-key", "k"),)
