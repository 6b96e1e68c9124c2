"""tiktoken, for comparisons."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha1

import pytest
import tiktoken

from kefu.context.tokens.encodings import SHA256, load

URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tiktoken.Encoding]:
    """Both encodings in tiktoken's own loader, which checks the SHA-256 that OpenAI published."""
    folder = tmp_path_factory.mktemp("tiktoken")
    for name in SHA256:
        lines = (b"%s %d\n" % (b64encode(token), i) for i, token in enumerate(load(name)))
        (folder / sha1(URL.format(name).encode()).hexdigest()).write_bytes(b"".join(lines))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return {name: tiktoken.get_encoding(name) for name in SHA256}
