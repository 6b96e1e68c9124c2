"""The official clients accept the result of `trim_messages` without a conversion."""

from __future__ import annotations

import pytest

from tests.clients.conftest import outcome_of


@pytest.mark.slow
def test_official_clients_send_trimmed_messages_and_their_apis_take_them() -> None:
    """Two clients, three APIs, random and recorded conversations, and a server that checks them."""
    outcome = outcome_of("trimmed_messages")
    assert outcome["problems"] == []
    assert outcome["sent"] == {"chat completions": 87, "responses": 91, "anthropic": 74}


@pytest.mark.slow
def test_x22_objects_of_other_libraries_are_trimmed_as_they_are() -> None:
    """LangChain's, pydantic-ai's, google-genai's and Ollama's objects, and Bedrock's dicts."""
    names = ("langchain", "pydantic-ai", "bedrock", "gemini", "ollama")
    assert outcome_of("foreign_messages") == {name: {"": 300} for name in names}
