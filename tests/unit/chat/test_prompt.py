"""C7, C10 to C12: the prompt that is built from a client's messages."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from benchmarks.trials.context import conversation
from kefu.chat.admission import Admission, Allowance
from kefu.chat.prompt import (
    OFF,
    SUMMARY,
    ClientSystem,
    PromptPolicy,
    Sampling,
    TrimPolicy,
    build_prompt,
    request_body,
    tightened,
)
from kefu.chat.summaries import Summaries
from kefu.context import BYTES4, STRATEGIES, Budget, Message, ToSummarize, TrimState, trim_messages
from kefu.context.wire.marks import mark
from kefu.errors import InvalidRequest
from kefu.messages import Image
from kefu.relay.key_pool import KeyPool
from kefu.relay.relay import Relay
from kefu.stores.memory import MemoryStore
from tests.fakes.spoken import HandClock, Spoken

ASKED = Message("user", "How much?")
THEIRS = Message("system", "theirs")
OURS = Message("system", "ours")


def user(*texts: str) -> list[Message]:
    return [Message("user", text) for text in texts]


@pytest.mark.parametrize(
    ("policy", "ours", "theirs", "system", "dropped"),
    [
        ("auto", "ours", "theirs", "ours", True),
        ("auto", "ours", "", "ours", False),
        ("auto", "", "theirs", "theirs", False),
        ("append", "ours", "theirs", "ours\n\ntheirs", False),
        ("append", "", "theirs", "theirs", False),
        ("append", "ours", "", "ours", False),
        ("drop", "ours", "theirs", "ours", True),
        ("drop", "", "theirs", "", True),
        ("reject", "ours", "", "ours", False),
        ("auto", "all of theirs and ours", "theirs", "all of theirs and ours", False),
    ],
)
def test_the_prompt_starts_with_one_system_message(
    policy: ClientSystem, ours: str, theirs: str, system: str, dropped: bool
) -> None:
    """The prompt also records whether the client's system message was left out."""
    sent = [Message("system", theirs), ASKED] if theirs else [ASKED]
    prompt = build_prompt(sent, PromptPolicy(ours, policy))
    assert list(prompt.window.messages) == [*([Message("system", system)] if system else []), ASKED]
    assert prompt.client_system_dropped is dropped


def test_a_rejected_system_message_of_a_client_is_an_error() -> None:
    with pytest.raises(InvalidRequest) as refused:
        build_prompt([THEIRS, ASKED], PromptPolicy(client_system="reject"))
    assert refused.value.param == "messages.0.role"


def test_an_empty_system_message_is_none() -> None:
    prompt = build_prompt([Message("system", ""), ASKED], PromptPolicy(client_system="reject"))
    assert (list(prompt.window.messages), prompt.client_system_dropped) == ([ASKED], False)


def test_by_default_six_thousand_characters_are_sent() -> None:
    """X5: a system prompt of the client counts, too."""
    turns = [Message("system", "ppp"), *user("a" * 3000, "b" * 2997)]
    assert len(build_prompt(turns, PromptPolicy()).window.messages) == 3
    turns[0] = Message("system", "pppp")
    cut = build_prompt(turns, PromptPolicy())
    assert list(cut.window.messages) == [turns[0], turns[2]]
    assert cut.window.reasons == {"budget": 1}


def trimmed(strategy: str, room: int = 4) -> PromptPolicy:
    return PromptPolicy("ours", trim=TrimPolicy(strategy, Budget(room, reserve=0), BYTES4))


TURNS = user("aaaa", "bbbb", "cccc", "dddd", "eeee", "ffff")


@pytest.mark.parametrize("strategy", ["fifo", SUMMARY])
def test_messages_over_the_limit_are_dropped(strategy: str) -> None:
    """C12: this is the prompt of the strategy `summary` if no summary can be written."""
    prompt = build_prompt(TURNS, trimmed(strategy))
    assert list(prompt.window.messages) == [OURS, *TURNS[3:]]
    assert list(prompt.window.dropped) == TURNS[:3]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_prompt_is_what_the_librarys_one_call_selects(strategy: str) -> None:
    """X12: with and without something to drop, with the reasons."""
    for room in range(9):
        policy = trimmed(strategy, room)
        window = build_prompt(TURNS, policy).window
        budget = policy.trim.budget
        if strategy == "v1":  # without the service's part of the system message
            budget = budget._replace(limit=room + BYTES4.count("ours"))
        expected = trim_messages([OURS, *TURNS], budget, strategy, BYTES4)
        assert list(window.messages) == expected
        assert list(window.dropped) == list(expected.dropped)
        assert tuple(window.left_out) == expected.left_out
        facts = window.tokens, window.limit, window.over_budget
        assert facts == (expected.tokens, expected.limit, expected.over_budget)


def test_trimming_can_be_off() -> None:
    prompt = build_prompt(TURNS, trimmed(OFF, room=1))
    assert list(prompt.window.messages) == [OURS, *TURNS]
    assert (prompt.window.left_out, prompt.window.over_budget) == ((), False)


class Remembered:
    """A memory with one summary."""

    def __init__(self, text: str, covers: int) -> None:
        self.text, self.covers = text, covers
        self.noted: list[TrimState] = []

    def state(self, messages: Sequence[Message]) -> TrimState:
        covers = self.covers + (messages[0].role == "system")
        return TrimState(summary=self.text, covers=covers, covers_mark=mark(messages, covers))

    def note(self, messages: Sequence[Message], state: TrimState) -> None:
        self.noted.append(state)

    def names(self, due: ToSummarize) -> Sequence[bytes]:
        return [b"the only one"]

    def summarized(self, due: ToSummarize, text: str) -> None:
        self.text = text


def test_a_known_summary_follows_the_system_prompt() -> None:
    """Requirement X9."""
    turns = TURNS * 20
    prompt = build_prompt([THEIRS, *turns], trimmed(SUMMARY, 80), Remembered("They asked.", 70))
    assert prompt.client_system_dropped
    assert prompt.window.messages[0] == OURS
    assert "They asked." in prompt.window.messages[1].content
    assert list(prompt.window.messages[2:]) == turns[70:]
    assert prompt.window.reasons == {"summarized": 70}
    assert prompt.window.fallback == ""


def test_without_a_summary_the_prompt_is_the_one_that_needs_none() -> None:
    """X9: the prompt also has the messages that the next summary should cover."""
    turns = TURNS * 20
    prompt = build_prompt(turns, trimmed(SUMMARY, 80))
    assert prompt.window.messages == build_prompt(turns, trimmed("fifo", 80)).window.messages
    assert prompt.window.fallback == "not ready"
    assert prompt.to_summarize
    covered = len(prompt.to_summarize.messages)
    assert list(prompt.to_summarize.messages) == turns[:covered]
    assert len(prompt.window.dropped) < covered < len(turns)


def test_the_operators_system_prompt_leaves_six_thousand_characters_to_the_conversation() -> None:
    """X5: with a long system prompt all history was dropped."""
    turns = user("a" * 3000, "b" * 2999, "c")
    whole = build_prompt(turns, PromptPolicy("p" * 7000))
    assert len(whole.window.messages) == 4
    turns = user("a" * 3000, "b" * 3000, "c")
    assert len(build_prompt(turns, PromptPolicy("p" * 7000)).window.messages) == 3
    theirs = [Message("system", "p" * 3000), *turns]
    assert len(build_prompt(theirs, PromptPolicy()).window.messages) == 2


def test_v1_trims_in_steps_where_they_are_set() -> None:
    """X11: prompts of a growing conversation start with the same messages."""
    turns = user(*(f"{turn:03}" + "x" * 297 for turn in range(80)))
    policy = PromptPolicy(trim=TrimPolicy("v1", Budget(6000, 0, 0.4)))
    starts = {build_prompt(turns[:n], policy).window.messages[0].content for n in range(30, 80)}
    exact = {
        build_prompt(turns[:n], PromptPolicy()).window.messages[0].content for n in range(30, 80)
    }
    assert len(starts) < 20
    assert len(exact) > 40


@pytest.mark.parametrize("strategy", ["fifo", "sliding_window", "keep_important", "v1", SUMMARY])
def test_a_prompt_that_the_model_found_too_long_is_halved(strategy: str) -> None:
    """C9: half of the sent prompt, for any budget. The other settings stay the same."""
    policy = PromptPolicy("ours", trim=TrimPolicy(strategy, Budget(1000, reserve=900), BYTES4))
    first = build_prompt(TURNS, policy)
    half = tightened(policy, first)
    assert (first.window.tokens, half.trim.budget.room) == (7, 3)
    beside = 1 if strategy == "v1" else 0  # the operator's system prompt
    assert 0 < build_prompt(TURNS, half).window.tokens <= 3 + beside
    assert (half.system_prompt, half.trim.strategy) == ("ours", strategy)
    assert half.trim.counter is BYTES4


def test_a_prompt_that_was_not_trimmed_is_halved_by_characters() -> None:
    """Requirement C9."""
    policy = trimmed(OFF)
    half = tightened(policy, build_prompt(TURNS, policy))
    assert (half.trim.strategy, half.trim.budget.room) == ("v1", 12)
    assert list(build_prompt(TURNS, half).window.messages) == [OURS, *TURNS[-2:]]


@pytest.mark.parametrize("strategy", ["fifo", OFF])
def test_half_of_nothing_is_still_a_budget(strategy: str) -> None:
    policy = PromptPolicy(trim=TrimPolicy(strategy))
    half = tightened(policy, build_prompt(user(""), policy))
    assert half.trim.budget.room == 1


def test_the_body_has_only_the_given_parameters() -> None:
    """C7: the body is UTF-8 and requests the usage. Kefu's own fields of messages are not in it."""
    told = Message("user", "说过\n的话", summary=True)
    body = request_body(
        [OURS, told, Message("user", "?", pinned=True)], Sampling("model-1", 0.5, 300)
    )
    assert "说过".encode() in body
    assert json.loads(body) == {
        "model": "model-1",
        "messages": [
            {"role": "system", "content": "ours"},
            {"role": "user", "content": "说过\n的话\n\n?"},
        ],
        "temperature": 0.5,
        "max_tokens": 300,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def test_a_summary_is_sent_together_with_the_user_message_after_it() -> None:
    """Strict chat templates refuse two consecutive user messages."""
    summary = Message("user", "<told>", summary=True)
    answer = Message("assistant", "Hello.")

    def sent(*messages: Message) -> list[tuple[str, str]]:
        body = json.loads(request_body(messages, Sampling("m")))
        return [(message["role"], message["content"]) for message in body["messages"]]

    assert sent(OURS, summary, ASKED) == [("system", "ours"), ("user", "<told>\n\nHow much?")]
    assert sent(summary, answer, ASKED)[:2] == [("user", "<told>"), ("assistant", "Hello.")]
    assert sent(ASKED, ASKED) == [("user", "How much?")] * 2


def test_most_of_a_trimmed_prompt_is_what_the_last_one_began_with() -> None:
    """X11: 200 turns with `v1` and a step. A provider's prompt cache can use the common
    beginning.
    """
    texts = [Message(role, text) for role, text in conversation(400)]  # type: ignore[arg-type]
    trim = TrimPolicy("v1", Budget(6000, 0, 0.4))
    policy = PromptPolicy("You answer for a shop. " * 40, trim=trim)
    clock = HandClock()
    store = MemoryStore(clock.now)
    relay = Relay(Spoken(), KeyPool(["one key"]), store, clock)
    memory = Summaries(relay, Admission(store, clock, Allowance()), Sampling("m"), clock).memory
    before: list[Message] = []
    repeated = total = 0
    for turn in range(200):
        prompt = list(build_prompt(texts[: 2 * turn + 1], policy, memory).window.messages)
        shared = 0
        while shared < min(len(prompt), len(before)) and prompt[shared] == before[shared]:
            shared += 1
        repeated += sum(len(message.content) for message in prompt[:shared])
        total += sum(len(message.content) for message in prompt)
        before = prompt
    assert repeated / total >= 0.85


def test_m2_sampling_decides_what_a_request_may_ask_for() -> None:
    """Fewer tokens, not more; no temperature where the owner sends none."""
    sampling = Sampling("m", 0.5, 100, {"top_k": 5, "max_completion_tokens": 80})
    assert sampling.asked(0.9, 50)[:3] == ("m", 0.9, 50)
    assert sampling.asked(None, 500)[:3] == ("m", 0.5, 100)
    body = json.loads(request_body([ASKED], sampling.asked(0.9, 50), {"tools": []}))
    assert body.pop("messages")
    assert body == {
        "model": "m",
        "temperature": 0.9,
        "max_completion_tokens": 50,
        "top_k": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [],
    }
    without = sampling._replace(temperature=None).asked(0.9)
    assert "temperature" not in json.loads(request_body([ASKED], without))


def test_w21_the_images_of_a_message_are_parts_behind_its_text() -> None:
    image = Image("image/png", 1, 1, b"abc")
    summary = Message("system", "Before.", summary=True)
    body = json.loads(request_body([summary, ASKED._replace(images=(image,))], Sampling("m")))
    (message,) = body["messages"]
    assert message["content"] == [
        {"type": "text", "text": f"Before.\n\n{ASKED.content}"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj", "detail": "auto"}},
    ]
