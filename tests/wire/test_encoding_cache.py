from headrace.messages.message import UserMessage
from headrace.wire.encoding_cache import EncodingCache, Fragment
from headrace.wire.profile import DEFAULT, Profile


def test_what_was_stored_is_found_for_the_same_object_profile_and_key():
    cache, message, fragment = EncodingCache(), UserMessage("a"), Fragment(b"x")
    assert cache.find(message, DEFAULT, ("k",)) is None
    cache.store(message, DEFAULT, ("k",), fragment)
    assert cache.find(message, DEFAULT, ("k",)) is fragment
    assert cache.misses == 1


def test_another_object_profile_or_key_is_another_entry():
    cache, message = EncodingCache(), UserMessage("a")
    cache.store(message, DEFAULT, ("k",), Fragment(b"x"))
    assert cache.find(message.replace(), DEFAULT, ("k",)) is None
    assert cache.find(message, Profile(), ("k",)) is None
    assert cache.find(message, DEFAULT, ("l",)) is None


def test_an_entry_keeps_its_owner_so_that_its_identity_stays_its_own():
    cache = EncodingCache()
    ids = set()
    for n in range(100):
        message = UserMessage(str(n))
        cache.store(message, DEFAULT, (), Fragment(str(n).encode()))
        ids.add(id(message))
        del message
    assert len(ids) == 100


def test_what_is_in_use_stays_and_what_is_not_goes():
    cache = EncodingCache(max_bytes=10_000)
    kept, other = UserMessage("kept"), [UserMessage(str(n)) for n in range(200)]
    cache.store(kept, DEFAULT, (), Fragment(b"k"))
    for message in other:
        cache.store(message, DEFAULT, (), Fragment(b"x" * 500))
        assert cache.find(kept, DEFAULT, ()) is not None
    assert cache.find(other[0], DEFAULT, ()) is None


def test_the_memory_that_it_takes_is_bounded():
    cache = EncodingCache(max_bytes=10_000)
    for n in range(1000):
        cache.store(UserMessage(str(n)), DEFAULT, (), Fragment(b"x" * 500, (), (b"y" * 500,)))
    assert len(cache._young) + len(cache._old) <= 2 * 10_000 // 1000 + 1
