"""Questions with answers in JSON-LD, which sites without text in their HTML have, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from selectolax.lexbor import LexborHTMLParser


def read_questions(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    """Each question with its answer, both in HTML."""
    for node in tree.css("script[type='application/ld+json']"):
        try:
            data = json.loads(node.text())
        except (ValueError, RecursionError):
            continue
        for one in _objects(data):
            name, answer = one.get("name"), one.get("acceptedAnswer")
            text = answer.get("text") if isinstance(answer, dict) else None
            if one.get("@type") == "Question" and isinstance(name, str) and isinstance(text, str):
                yield name, text


def _objects(data: Any) -> Iterator[dict[str, Any]]:
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += reversed(one.values())
        elif isinstance(one, list):
            waiting += reversed(one)
