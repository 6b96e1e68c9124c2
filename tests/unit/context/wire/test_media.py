"""Images, audio and files, by the examples and formulas that the providers publish."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from kefu.context import BYTES4, trim_messages
from kefu.context.wire.media import image_tokens, size_of_image


def png(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height) + b"\x08"


def gif(width: int, height: int) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\x00"


def jpeg(width: int, height: int) -> bytes:
    frame = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03"
    return b"\xff\xd8\xff\xe0\x00\x10" + b"J" * 14 + frame


def webp(width: int, height: int) -> bytes:
    size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    return b"RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00" + size


@pytest.mark.parametrize(
    ("size", "model", "low", "tokens"),
    [
        ((1024, 1024), "gpt-4o", False, 765),  # the example of OpenAI's page
        ((2048, 4096), "gpt-4o", False, 1105),  # the second example of that page
        ((4096, 8192), "gpt-4o", True, 85),
        ((512, 512), "gpt-4o-2024-08-06", False, 255),
        ((1024, 1024), "gpt-5", False, 70 + 4 * 140),
        ((1024, 1024), "gpt-4o-mini", False, 2833 + 4 * 5667),
        ((1024, 1024), "gpt-4.1-mini", False, 1659),  # 1,024 patches at 1.62
        ((1800, 2400), "gpt-5-nano-2025", False, 3779),  # at most 1,536 patches, at 2.46
        ((512, 512), "gpt-4o-mini", True, 2833),
        ((512, 512), "gpt-5", True, 70),
        ((512, 512), "o1", False, 75 + 150),
        ((512, 512), "o3", False, 75 + 150),
        ((512, 512), "computer-use-preview", False, 65 + 129),
        ((512, 512), "gpt-4.1", False, 85 + 170),
        ((512, 512), "openai/GPT-4o", False, 85 + 170),
        ((1024, 1024), "gpt-4.1-nano", False, 2520),  # 1,024 patches at 2.46
        ((1024, 1024), "gpt-5-mini", False, 1659),
        ((1024, 1024), "o4-mini", False, 1762),  # at 1.72
        ((33, 32), "o4-mini", True, 4),  # 2 patches
        ((32, 33), "o4-mini", False, 4),
        ((10_000, 10_000), "o4-mini", False, 2642),  # at most 1,536 patches
        ((768, 2048), "gpt-4o", False, 85 + 8 * 170),
        ((2048, 768), "gpt-4o", False, 85 + 8 * 170),
        ((769, 769), "gpt-4o", False, 85 + 4 * 170),
        ((1, 1), "gpt-4o", False, 85 + 170),
        ((0, 0), "gpt-4o", False, 85 + 170),
        ((1, 9000), "gpt-4o", False, 85 + 4 * 170),
        (None, "gpt-5", False, 70 + 8 * 140),
        (None, "gpt-5", True, 70),
        (None, "claude-sonnet-4-5", False, 1600),
        (None, "claude-sonnet-5", False, 4784),
        (None, "gpt-5-mini", False, 2489),
        ((0, 0), "claude-sonnet-5", False, 0),
        ((3136, 100), "claude-sonnet-4", False, 105),  # 1,568 x 50 pixels
        ((5152, 100), "claude-opus-4-7", False, 172),  # 2,576 x 50 pixels
        ((200, 200), "claude-sonnet-5", False, 54),  # examples of Anthropic's page
        ((1000, 1000), "claude-sonnet-5", False, 1334),
        ((1092, 1092), "anthropic/claude-opus-5", False, 1590),
        ((8000, 8000), "claude-3-5-sonnet-latest", False, 1600),
        ((8000, 8000), "anthropic.claude-haiku-4-5-20251001-v1:0", False, 1600),
        ((8000, 8000), "anthropic/claude-opus-4.6", False, 1600),
        ((8000, 8000), "anthropic/claude-opus-4.8", False, 4784),
        ((1920, 1080), "claude-sonnet-4-20250514", False, 1600),
        ((1920, 1080), "claude-opus-5", False, 2765),
    ],
)
def test_an_image_costs_what_its_provider_says(
    size: tuple[int, int] | None, model: str, low: bool, tokens: int
) -> None:
    assert image_tokens(size, model, low=low) == tokens


def lossy(width: int, height: int) -> bytes:
    """WebP with the upper two bits set, which scale the image."""
    size = struct.pack("<HH", width | 0xC000, height | 0x8000)
    return b"RIFF\x00\x00\x00\x00WEBPVP8 " + b"\x00" * 7 + b"\x9d\x01\x2a" + size


def lossless(width: int, height: int) -> bytes:
    bits = (width - 1) | (height - 1) << 14 | 1 << 28
    return (
        b"RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f" + struct.pack("<I", bits) + b"\x00" * 5
    )


def progressive(width: int, height: int) -> bytes:
    """JPEG with a table between the start and the frame, as FFC4 looks like one."""
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + b"\x03"
    return b"\xff\xd8\xff\xc4\x00\x10" + b"T" * 14 + frame


@pytest.mark.parametrize("marker", [0xC4, 0xC8, 0xCC, 0xBF, 0xD0, 0xDB])
def test_a_segment_that_is_no_frame_of_a_jpeg_gives_no_size(marker: int) -> None:
    segment = b"\xff" + bytes([marker]) + b"\x00\x11\x08" + b"\x01" * 14
    assert size_of_image(b"\xff\xd8" + segment + b"\x00" * 20) is None
    assert size_of_image(b"\xff\xd8" + segment + jpeg(7, 9)[2:]) == (7, 9)


@pytest.mark.parametrize("start", [b"", b"BM", b"\x89PNX", b"RIFF\x00\x00\x00\x00WAVE"])
def test_other_bytes_have_no_size(start: bytes) -> None:
    assert size_of_image(start + b"\x01" * 40) is None


@pytest.mark.parametrize("make", [png, gif, jpeg, webp, lossy, lossless, progressive])
def test_the_size_of_an_image_is_read_from_its_first_bytes(make: Any) -> None:
    assert size_of_image(make(1024, 640)) == (1024, 640)
    for end in range(len(make(1024, 640))):
        assert size_of_image(make(1024, 640)[:end]) in (None, (1024, 640))


def tokens(part: dict[str, Any], model: str = "gpt-4o") -> int:
    message = {"role": "user", "content": [part]}
    sent = trim_messages([message], max_tokens=9_000_000, model=model, counter=BYTES4)
    assert sent == [message]
    return sent.tokens


def test_images_are_found_in_every_format() -> None:
    data = base64.b64encode(png(1024, 1024)).decode()
    url = f"data:image/png;base64,{data}"
    source = {"type": "base64", "media_type": "image/png", "data": data}
    assert tokens({"type": "image_url", "image_url": {"url": url}}) == 765
    assert tokens({"type": "image_url", "image_url": {"url": url, "detail": "low"}}) == 85
    assert tokens({"type": "input_image", "image_url": url}) == 765
    assert tokens({"type": "image", "source": source}, "claude-sonnet-5") == 1399
    result = {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "image"}]}
    use = {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "1", "name": "", "input": {}}],
    }
    whole = [{"role": "user", "content": ""}, use, {"role": "user", "content": [result]}]
    sent = trim_messages(whole, max_tokens=9000, model="claude-sonnet-4", counter=BYTES4)
    assert sent.tokens == 1600 + 1


def test_a_generated_image_is_not_counted_as_text() -> None:
    """OpenAI's Responses API has the image as base64 in the item of its tool."""
    data = base64.b64encode(png(1024, 1024) + bytes(100_000)).decode()
    made = {"type": "image_generation_call", "id": "i", "result": data}
    whole = [{"role": "user", "content": "draw"}, made, {"role": "user", "content": "next"}]
    sent = trim_messages(whole, model="gpt-4o", max_tokens=2_000)
    assert sent == whole
    assert 765 <= sent.tokens < 850


def test_an_image_behind_an_address_counts_as_the_largest() -> None:
    """The message does not contain its size. With too low an estimate, the API could refuse the
    prompt.
    """
    away = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    assert tokens(away) == 85 + 8 * 170
    assert tokens({"type": "image_url", "image_url": {"url": "data:image/png;base64,?"}}) == 1445


def test_audio_and_files_are_not_counted_as_base64() -> None:
    second = base64.b64encode(b"\x00" * 32_000).decode()
    assert tokens({"type": "input_audio", "input_audio": {"data": second, "format": "wav"}}) == 10
    pdf = base64.b64encode(b"%PDF-1.7 /Type /Pages /Type /Page /Type/Page" + b"x" * 99_999).decode()
    file = {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{pdf}"}
    assert tokens({"type": "file", "file": file}) == 6000
    source = {"type": "base64", "media_type": "application/pdf", "data": pdf}
    assert tokens({"type": "document", "source": source}, "claude-sonnet-5") == 6000
    assert tokens({"type": "input_file", "file_id": "file-1"}) == 10_000
    text = {"type": "text", "media_type": "text/plain", "data": "abcd" * 10}
    assert tokens({"type": "document", "source": text}) == 10
    empty = {"type": "input_file", "file_data": base64.b64encode(b"no pages").decode()}
    assert tokens(empty) == 3000


@pytest.mark.parametrize(
    ("data", "coded_as", "expected"),
    [("A" * 4000, "mp3", 8), ("A" * 4000, "ogg", 8), ("A" * 4000, "wav", 1), ("", "wav", 0)],
)
def test_audio_costs_ten_tokens_a_second(data: str, coded_as: str, expected: int) -> None:
    """3,000 bytes; a part of a token counts as one."""
    part = {"type": "input_audio", "input_audio": {"data": data, "format": coded_as}}
    assert tokens(part) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("abcd" * 10, 10),
        ([{"type": "text", "text": "abcd" * 10}, "abcd"], 11),
        ([{"type": "image"}], 0),
        (None, 0),
    ],
)
def test_the_texts_in_a_document_are_counted(content: Any, expected: int) -> None:
    """Anthropic's documents of content blocks."""
    assert (
        tokens({"type": "document", "source": {"type": "content", "content": content}}) == expected
    )
