from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.wire.options import NO_OPTIONS, DecodeOptions
from headrace.wire.text_filters import Cumulative, Halves, TextFilter, ThinkTags


def joined(pieces):
    """The text of each kind."""
    return "".join(text for kind, text in pieces if kind == "reasoning"), "".join(text for kind, text in pieces if kind == "text")


def split(pieces, **options):
    tags = ThinkTags(**options)
    return joined([part for piece in pieces for part in tags.feed(piece)] + tags.release())


class TestThinkTags:
    @given(
        st.lists(
            st.sampled_from(["<think>", "</think>", "<thinking>", "</thinking>", "<", "<th", "ink>", "</", "a", "\n", " ", ">"]),
            max_size=12,
        ),
        st.data(),
    )
    def test_any_slicing_gives_the_same(self, words, data):
        text = "".join(words)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
        pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        is_open = data.draw(st.booleans())
        whole = split([text], starts_open=is_open)
        assert split(pieces, starts_open=is_open) == whole
        assert split(text, starts_open=is_open) == whole

    @given(st.text("<thinkab/>", max_size=30))
    def test_nothing_but_whole_tags_is_lost(self, text):
        if "<think>" not in text:
            assert split([text]) == ("", text)

    def test_only_a_tail_that_could_become_a_tag_is_held_back(self):
        tags = ThinkTags()
        assert tags.feed("a <thin") == [("text", "a ")]
        assert tags.feed("g <") == [("text", "<thing ")]
        assert tags.release() == [("text", "<")]
        assert tags.release() == []

    def test_a_tag_is_closed_by_its_own_closing_tag(self):
        assert split(["<thinking>a</think>b</thinking>c<think>d</thinking></think>e"]) == ("a</think>bd</thinking>", "ce")
        assert split(["a</thinking>b<thinking>c"], starts_open=True) == ("ac", "b")

    def test_line_breaks_behind_the_closing_tag_belong_to_it(self):
        assert split(["<think>\na\n</think>", "\r\n", "\n", "b\n"]) == ("\na\n", "b\n")


class TestCumulative:
    def test_each_text_gives_what_it_adds(self):
        filter_ = Cumulative()
        assert [filter_.feed(text) for text in ("", "a", "ab", "ab", "abc")] == [
            ("", False),
            ("a", False),
            ("b", True),
            ("", True),
            ("c", True),
        ]

    def test_a_text_that_does_not_continue_is_new(self):
        filter_ = Cumulative()
        assert [filter_.feed(text) for text in ("ab", "a", "x", "abaxy")] == [("ab", False), ("a", False), ("x", False), ("y", True)]

    def test_texts_that_are_no_snapshots_are_not_joined_again_and_again(self):
        filter_ = Cumulative()
        filter_.feed("a" * 1000)
        for _ in range(50):
            filter_.feed("b")
        assert len(filter_._pieces) == 51


class TestHalves:
    def test_two_halves_are_one_character(self):
        halves = Halves()
        assert halves.feed("a\ud83d") == ("a", False)
        assert halves.feed("\ude00b") == ("😀b", False)
        assert halves.release() == ""

    def test_a_half_without_the_other_is_replaced(self):
        halves = Halves()
        assert halves.feed("\ude00a") == ("\ufffda", True)
        assert halves.feed("\ud83d") == ("", False)
        assert halves.feed("a\ufffd") == ("\ufffda\ufffd", True)
        assert halves.feed("\ud83d") == ("", False)
        assert halves.release() == "\ufffd"
        assert halves.release() == ""

    @given(st.text(st.sampled_from(["a", "\ud83d", "\ude00", "😀"]), max_size=9), st.integers(1, 4))
    def test_any_slicing_gives_the_same(self, text, size):
        def run(pieces):
            halves = Halves()
            return "".join(halves.feed(piece)[0] for piece in pieces) + halves.release()

        pieces = [text[n : n + size] for n in range(0, len(text), size)]
        assert run(pieces) == run([text]) == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class TestTextFilter:
    def test_the_options_concern_text_alone(self):
        options = DecodeOptions(think_tags=True, cumulative_text=True)
        for kind in ("reasoning", "refusal"):
            found = TextFilter(kind, options)
            assert found.feed("<think>a", len) == [(kind, "<think>a")]
            assert found.feed("<think>ab", len) == [(kind, "<think>ab")]
            assert found.release(len) == []

    def test_what_was_mended_is_said(self):
        said = []
        found = TextFilter("text", NO_OPTIONS)
        assert found.feed("\ude00", said.append) == [("text", "\ufffd")]
        assert found.feed("\ud83d", said.append) == []
        assert found.release(said.append) == [("text", "\ufffd")]
        assert said == ["invalid_utf8"] * 2

    def test_where_the_stream_was_cut_the_half_is_left_out(self):
        found = TextFilter("text", DecodeOptions(think_tags=True))
        found.feed("<\ud83d", len)
        assert found.release(len, is_cut=True) == [("text", "<")]
