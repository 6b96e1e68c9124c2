"""Answers from the site's own pages, if the settings name a file of learnt pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kefu.bootstrap.constants import KNOWLEDGE_TOKENS, LOCAL_KNOWLEDGE_TOKENS
from kefu.bootstrap.options import prompt_room
from kefu.bootstrap.upstream import ChosenModel
from kefu.chat.admission import Admission
from kefu.relay.call import Clock
from kefu.relay.relay import Relay
from kefu.settings import ConfigurationError, Settings

if TYPE_CHECKING:
    from kefu.chat.grounding import Grounder
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge


class Calls(NamedTuple):
    """The parts that a call to the model for search words needs."""

    relay: Relay
    admission: Admission
    clock: Clock


class Pages(NamedTuple):
    grounder: Grounder
    file: ReloadingKnowledge


def learnt_pages(
    settings: Settings, model: ChosenModel, calls: Calls, on_fault: Callable[[str], None]
) -> Pages | None:
    """None for a service without learnt pages; nothing else is imported for it.

    Raises ConfigurationError for a file that cannot be used.
    """
    is_default = settings.knowledge == Settings.model_fields["knowledge"].default
    if not settings.knowledge or (is_default and not Path(settings.knowledge).is_file()):
        return None
    from kefu.chat.grounding import Grounder, Room
    from kefu.chat.search_words import SearchWords

    try:
        file = _opened(settings, calls.clock.monotonic, on_fault)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"KEFU_KNOWLEDGE: {error}") from None
    tokens = LOCAL_KNOWLEDGE_TOKENS if model.kind == "local-model" else KNOWLEDGE_TOKENS
    room = Room(tokens, prompt_room(settings, model.name))
    words = None
    # The small local model is slow, and its words are of no use.
    if settings.knowledge_rewrite == "auto" and model.kind == "remote":
        words = SearchWords(calls.relay, calls.admission, model.name, calls.clock)
    return Pages(Grounder(file, room, words, settings.knowledge_links), file)


def _opened(
    settings: Settings, monotonic: Callable[[], float], on_fault: Callable[[str], None]
) -> ReloadingKnowledge:
    """Raises OSError for a file that cannot be used, and ValueError for an address that is none."""
    from kefu.stores.s3_object import S3Object, is_s3
    from kefu.stores.sqlite.knowledge.reloading import ReloadingKnowledge

    if not is_s3(settings.knowledge):
        return ReloadingKnowledge(Path(settings.knowledge), monotonic, on_fault)
    copy = S3Object(settings.knowledge)
    file = ReloadingKnowledge(copy.path, monotonic, on_fault, copy)
    # A cold start on Lambda does not wait for S3: the first question does, and `/ready`.
    if not settings.lambda_function:
        file.load()
    return file
