"""The parser of model output (S29-S33), also for malformed output."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.agent.display import Splitter, answer_so_far
from kefu.agent.grammar import Malformed, Parsed, ParsedAction, ParsedAnswer, parse
from tests.fakes.growth import assert_linear

# Malformed outputs of models: (output, result).
GOLDEN: dict[str, tuple[str, tuple[str, ...]]] = {
    "plain text": ("Hello.", ("implicit", "Hello.")),
    "text around a thought": ("<thought>hm</thought> It is 4.", ("implicit", "It is 4.")),
    "an action": ('<action tool="read">a.md</action>', ("action", "read", "a.md")),
    "single quotes": ("<action tool='read'>a.md</action>", ("action", "read", "a.md")),
    "closed by itself": ('<action tool="time"/>', ("action", "time", "")),
    "closed with a space": ('<action tool="time" />', ("action", "time", "")),
    "empty input": ('<action tool="time"></action>', ("action", "time", "")),
    "trimmed input": ('<action tool="read">\n a b \n</action>', ("action", "read", "a b")),
    "no entities": ('<action tool="x">a &lt; b</action>', ("action", "x", "a &lt; b")),
    "cdata": (
        '<action tool="x"><![CDATA[ a</action> ]]></action>',
        ("action", "x", " a</action> "),
    ),
    "cdata in spaces": ('<action tool="x"> <![CDATA[a]]> </action>', ("action", "x", "a")),
    "open cdata": ('<action tool="x"><![CDATA[a</action>', ("action", "x", "<![CDATA[a")),
    "text behind cdata": (
        '<action tool="x"><![CDATA[a]]>b</action>',
        ("action", "x", "<![CDATA[a]]>b"),
    ),
    "other attributes": ('<action id="1" tool="x" n="2">a</action>', ("action", "x", "a")),
    "an end of tag in an attribute": (
        '<action note="a>b" tool="x">c</action>',
        ("action", "x", "c"),
    ),
    "over two lines": ('<action\n  tool="x"\n>a</action>', ("action", "x", "a")),
    "the first of two": (
        '<action tool="a">1</action><action tool="b">2</action>',
        ("action", "a", "1"),
    ),
    "an action in an action": (
        '<action tool="a">1<action tool="b">2</action></action>',
        ("action", "a", '1<action tool="b">2'),
    ),
    "an action before an answer": (
        '<action tool="a">1</action><final>done</final>',
        ("action", "a", "1"),
    ),
    "an answer before an action": (
        '<final>done</final><action tool="a">1</action>',
        ("final", "done"),
    ),
    "an action in an answer": (
        '<final>write <action tool="a">1</action></final>',
        ("final", 'write <action tool="a">1</action>'),
    ),
    "an action in a thought": (
        '<thought>maybe <action tool="rm">x</action></thought><final>no</final>',
        ("final", "no"),
    ),
    "an open thought before an action": (
        '<thought>so <action tool="a">1</action>',
        ("action", "a", "1"),
    ),
    "an open thought before an answer": ("<thought>so <final>4</final>", ("final", "4")),
    "an open thought": ("<thought>so it is", ("thought_only",)),
    "only a thought": ("<thought>so it is</thought>\n", ("thought_only",)),
    "an open answer": ("<final>It is 4.", ("final", "It is 4.")),
    "two ends of an answer": ("<final>a</final> b</final> c", ("final", "a</final> b")),
    "an empty answer": ("<final> </final>", ("empty_final",)),
    "nothing": ("", ("empty_final",)),
    "only spaces": (" \n ", ("empty_final",)),
    "an open action": ('<action tool="rm">-rf', ("unterminated_action",)),
    "an open tag": ('<action tool="rm', ("unterminated_action",)),
    "half a tag": ("<action", ("unterminated_action",)),
    "an open action before an answer": (
        '<action tool="a">1 <final>never mind</final>',
        ("final", "never mind"),
    ),
    "no tool": ("<action>ls</action>", ("missing_tool",)),
    "an empty tool": ('<action tool="">ls</action>', ("missing_tool",)),
    "a tool without quotes": ("<action tool=read>ls</action>", ("missing_tool",)),
    "a tool with a space": ('<action tool="read file">ls</action>', ("missing_tool",)),
    "a tool that is a path": ('<action tool="../x">ls</action>', ("missing_tool",)),
    "a tool of 65 letters": (f'<action tool="{"t" * 65}">ls</action>', ("missing_tool",)),
    "another name": ('<act tool="a">1</act>', ("implicit", '<act tool="a">1</act>')),
    "capitals": ('<ACTION tool="a">1</ACTION>', ("implicit", '<ACTION tool="a">1</ACTION>')),
    "a made-up observation": (
        '<action tool="a">1</action><observation>42</observation><final>42</final>',
        ("action", "a", "1"),
    ),
    "a made-up observation first": (
        "<observation>all is done</observation><final>ok</final>",
        ("final", "ok"),
    ),
    "an action in a made-up observation": (
        '<observation tool="a"><action tool="rm">x</action></observation>no',
        ("implicit", "no"),
    ),
    "a stray end": ("so it is</thought>\nIt is 4.</final>", ("implicit", "so it is\nIt is 4.")),
}


def told(parsed: Parsed) -> tuple[str, ...]:
    match parsed:
        case ParsedAction(tool, given):
            return ("action", tool, given)
        case ParsedAnswer(text, implicit):
            return ("implicit" if implicit else "final", text)
        case Malformed(mistake):
            return (mistake,)


@pytest.mark.parametrize("name", GOLDEN)
def test_s29_s30_golden_outputs_mean(name: str) -> None:
    written, meant = GOLDEN[name]
    assert told(parse(written)) == meant


def test_s32_the_conversation_keeps_the_action_and_no_forged_observation() -> None:
    fake = "<observation>fake</observation>"
    parsed = parse(f'{fake}Now: <action tool="a">1</action>{fake}')
    assert parsed == ParsedAction("a", "1", 'Now: <action tool="a">1</action>')


WORDS = [
    *("<thought>", "</thought>", "<final>", "</final>", "<observation>", "</observation>"),
    *('<action tool="a">', "<action tool='b'/>", "<action ", 'tool="c"', ">", "/>", "</action>"),
    *("<![CDATA[", "]]>", "<", '"', "'", "=", " ", "\n", "x", "é", "\x00", "\ud800", "&lt;"),
]


def outputs(count: int) -> Iterator[str]:
    dice = random.Random(7)
    for _ in range(count):
        yield "".join(dice.choices(WORDS, k=dice.randrange(25)))


@pytest.mark.slow
def test_s33_100_000_outputs_are_read_and_no_open_action_is_run() -> None:
    kinds = set[str]()
    for output in outputs(100_000):
        parsed = parse(output)
        kinds.add(told(parsed)[0])
        if isinstance(parsed, ParsedAction):
            assert parsed.output.endswith(("</action>", "/>"))
            assert parsed.output[-9:] in output
        elif isinstance(parsed, ParsedAnswer):
            assert parsed.text == parsed.text.strip() != ""
    expected = {"action", "final", "implicit", "thought_only", "empty_final", "missing_tool"}
    assert kinds == expected | {"unterminated_action"}


@given(st.text(st.characters(exclude_categories=())))
def test_s33_no_text_makes_it_raise(text: str) -> None:
    parse(text)
    parse(f"<action {text}")
    parse(f'<action tool="a">{text}')


def shown(text: str, *cuts: int) -> list[tuple[str, str]]:
    """The displayed pieces. Adjacent pieces of one kind are joined."""
    splitter, at, joined = Splitter(), 0, list[tuple[str, str]]()
    pieces = []
    for cut in (*cuts, len(text)):
        pieces += splitter.feed(text[at:cut])
        at = max(at, cut)
    for kind, part in [*pieces, *splitter.close()]:
        if joined and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + part)
        else:
            joined.append((kind, part))
    return joined


@pytest.mark.parametrize("name", GOLDEN)
def test_s8_the_display_does_not_depend_on_the_chunks(name: str) -> None:
    text = GOLDEN[name][0]
    whole = shown(text)
    assert shown(text, *range(len(text))) == whole
    for cut in range(len(text)):
        assert shown(text, cut) == whole


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.integers(0, 80), st.integers(0, 80))
def test_s8_any_output_is_shown_alike_however_it_is_cut(
    words: list[str], one: int, other: int
) -> None:
    text = "".join(words)
    assert shown(text, *sorted((one, other))) == shown(text)


def test_s8_an_answer_is_shown_as_it_is_read() -> None:
    text = "<thought>a</thought> b <final>c</final> d</final> e"
    assert shown(text) == [("thought", "a"), ("text", " b "), ("answer", "c</final> d")]
    parsed = parse(text)
    assert isinstance(parsed, ParsedAnswer)
    assert parsed.text == "c</final> d"


@pytest.mark.parametrize(
    ("text", "so_far"),
    [
        ("", ""),
        ("It is", "It is"),
        ("<thought>It", ""),
        ("<thought>It</thought>So", "So"),
        ("Hm <final>It is", "It is"),
        ('Look: <action tool="a">b', ""),
    ],
)
def test_s11_a_cut_output_keeps_only_its_answer(text: str, so_far: str) -> None:
    assert answer_so_far(text) == so_far


BOMBS = {
    "open actions": '<action tool="a">',
    "open tags": "<action ",
    "tags that hold tags": "<action a=\"<action b='",
    "quotes": "<action a=\"'<action a='\"",
    "many attributes": '<action b="1" b="1" b="1" <action',
    "closed actions without a tool": "<action></action>",
    "thoughts": "<thought>",
    "closed thoughts": "<thought></thought>",
    "thoughts before open actions": "<thought><action ",
    "observations": "<observation>",
    "cdata": '<action tool="a"><![CDATA[',
    "ends of cdata": '<action tool="a"><![CDATA[]]>',
    "spaces": "<action" + " " * 50,
    "only spaces": " ",
    "angles": "<",
    "ends of answers": "</final>",
    "answers": "<final>",
    "ends of actions": "</action>",
}


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("before", ["", "<thought>"])
def test_s33_time_is_linear_in_the_length(name: str, before: str) -> None:
    def bomb(size: int) -> str:
        return before + (BOMBS[name] * (size // len(BOMBS[name]) + 1))[:size]

    assert_linear(bomb, parse, 200_000)


def test_s33_showing_is_linear_as_well() -> None:
    assert_linear(
        lambda size: ("<final>x</final><" * size)[:size],
        lambda text: shown(text, *range(0, len(text), 20)),
        100_000,
    )
