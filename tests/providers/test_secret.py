import copy
import json
import pickle
import traceback

import msgspec
import pytest

from headrace.providers.secret import Secret


def test_a_secret_shows_itself_only_when_asked():
    secret = Secret("sesame-sesame")
    assert secret.reveal() == "sesame-sesame"
    for shown in (repr(secret), str(secret), f"{secret}", "%s" % secret, f"{[secret]}", ascii(secret)):  # noqa: UP031 - every way to format
        assert "sesame" not in shown


@pytest.mark.parametrize("write", [json.dumps, msgspec.json.encode, pickle.dumps])
def test_a_secret_cannot_be_written_down(write):
    with pytest.raises(TypeError) as caught:
        write(Secret("sesame"))
    assert "sesame" not in "".join(traceback.format_exception(caught.value)).replace('Secret("sesame")', "")


def test_secrets_compare_by_what_they_hold():
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert Secret("é") == Secret("é")


def test_a_copy_is_the_secret_itself():
    secret = Secret("a")
    assert copy.copy(secret) is copy.deepcopy(secret) is secret
