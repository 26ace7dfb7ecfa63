"""Groups of tools, switched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import ToolError, UsageError
from headrace.tools.context import Context
from headrace.tools.groups import SWITCH_NAME, switch_text, switch_tool, switched
from headrace.tools.tool import tool
from headrace.tools.toolset import toolset

KNOWN = ("files", "web", "mail")


def act(): ...


TOOLS = toolset(
    act, *(tool(name=name, group=group)(act) for name, group in (("read", "files"), ("write", "files"), ("fetch", "web"), ("send", "mail")))
)
names = st.lists(st.sampled_from(KNOWN))


class TestSwitched:
    @given(names, names, names)
    def test_what_is_switched_is_and_the_rest_stays(self, active, on, off):
        if set(on) & set(off):
            with pytest.raises(ToolError, match="cannot be switched on and off at once"):
                switched(active, on, off, KNOWN)
            return
        after = switched(active, on, off, KNOWN)
        assert set(on) <= after
        assert not set(off) & after
        assert after - set(on) == set(active) - set(off) - set(on)

    @pytest.mark.parametrize(("on", "off"), [(["fils"], []), ([], ["fils"])])
    def test_an_unknown_group_is_named_and_the_known_ones_listed(self, on, off):
        with pytest.raises(ToolError, match=r"There is no group 'fils'. The groups are: files, web, mail."):
            switched([], on, off, KNOWN)

    @pytest.mark.parametrize("given", [[3], 3, [["files"]]])
    def test_what_is_no_list_of_names_is_said(self, given):
        with pytest.raises(ToolError, match="on must be a list of names of groups"):
            switched([], given, [], KNOWN)

    def test_one_name_alone_and_null_are_understood(self):
        assert switched(["mail"], "files", None, KNOWN) == {"files", "mail"}


class TestSwitchTool:
    @staticmethod
    def context(active=()):
        kept = [frozenset(active)]

        def switch(on, off):
            kept.append(switched(kept[-1], on, off, TOOLS.groups))
            return kept[-1]

        return Context(deps=None, switch=switch), kept

    def test_it_tells_the_model_the_groups(self):
        spec = switch_tool(TOOLS, {"web": "the web"}).spec
        assert spec.name == SWITCH_NAME
        assert spec.description.endswith("\n- files: read, write\n- web: the web\n- mail: send")
        assert spec.parameters["properties"]["on"]["items"]["enum"] == ["files", "web", "mail"]

    async def test_it_switches_and_says_what_is_on(self):
        context, kept = self.context(["mail"])
        made = switch_tool(TOOLS)
        text = await made(**made.keywords({"on": ["files"], "off": ["mail"]}, context))
        assert text == "On: files (read, write). Off: web, mail."
        assert kept[-1] == {"files"}
        assert await made(**made.keywords({}, context)) == text

    async def test_an_unknown_group_is_told_to_the_model_and_changes_nothing(self):
        context, kept = self.context()
        made = switch_tool(TOOLS)
        with pytest.raises(ToolError, match="There is no group 'fils'"):
            await made(**made.keywords({"on": ["fils"]}, context))
        assert kept == [frozenset()]

    def test_without_groups_there_is_nothing_to_switch(self):
        with pytest.raises(UsageError, match="no tool has a group"):
            switch_tool(toolset(act))
        with pytest.raises(UsageError, match="there is no group 'fils'"):
            switch_tool(TOOLS, {"fils": "files"})

    def test_the_text_says_none_where_there_is_none(self):
        assert switch_text(TOOLS, []) == "On: none. Off: files, web, mail."
        assert switch_text(TOOLS, KNOWN) == "On: files (read, write), web (fetch), mail (send). Off: none."
