"""Images of visitors: what is refused, and what is left of the others."""

from __future__ import annotations

import random
import re
from time import thread_time

import pytest

from kefu.errors import InvalidRequest
from kefu.images import (
    MAX_BYTES,
    MAX_SIDE,
    described,
    images_in,
    place_of,
    stored,
    texts_only,
    url_of,
)
from tests.fakes.pictures import (
    GIF,
    HEIC,
    HEIGHT,
    PDF,
    PLACE,
    SVG,
    WIDTH,
    image_of,
    jpeg,
    png,
    url,
    webp,
)

MAKERS = {"image/jpeg": jpeg, "image/png": png, "image/webp": webp}


@pytest.mark.parametrize("type", MAKERS)
def test_w21_metadata_is_cut_away_and_the_picture_stays(type: str) -> None:
    marked = MAKERS[type](place=PLACE)
    assert marked.count(PLACE) >= 3
    (image,) = images_in([url(marked)])
    assert (image.type, image.width, image.height) == (type, WIDTH, HEIGHT)
    assert PLACE not in image.data
    assert image == image_of(MAKERS[type]())
    assert image_of(image.data) == image, "a cut image is cut again to itself"
    assert images_in([url_of(image)]) == (image,)


def test_w21_only_the_parts_that_show_the_picture_are_left() -> None:
    assert re.findall(rb"JFIF|Exif|ICC_PROFILE|Photoshop", image_of(jpeg(place=PLACE)).data) == [
        b"JFIF"
    ]
    cut = image_of(webp(place=PLACE)).data
    assert re.findall(rb"VP8X|ICCP|ALPH|VP8 |EXIF|XMP ", cut) == [b"VP8X", b"ALPH", b"VP8 "]
    assert cut[20] == 0x10, "no flag announces what was cut away"
    assert int.from_bytes(cut[4:8], "little") == len(cut) - 8


def test_w21_the_type_is_that_of_the_first_bytes() -> None:
    assert images_in([url(png(), "image/jpeg")])[0].type == "image/png"


@pytest.mark.parametrize("data", [SVG, HEIC, PDF, GIF, b"", b"\xff\xd8", b"RIFF\0\0\0\0WAVE"])
@pytest.mark.parametrize("name", ["image/jpeg", "image/svg+xml", "application/pdf"])
def test_w21_other_files_are_refused_whatever_their_name(data: bytes, name: str) -> None:
    with pytest.raises(InvalidRequest, match="Only JPEG, PNG and WebP") as refused:
        images_in([url(png()), url(data, name)])
    assert refused.value.param == "images"


@pytest.mark.parametrize(
    "text", ["", "https://example.com/cat.jpg", "data:image/png,abc", "data:,", "x" * 100]
)
def test_w21_an_address_is_never_fetched(text: str) -> None:
    with pytest.raises(InvalidRequest, match="Only JPEG, PNG and WebP") as refused:
        images_in([text])
    assert str(refused.value).endswith("Send them as data URLs: Kefu fetches no addresses.")


@pytest.mark.parametrize("maker", [jpeg, png, webp])
def test_w21_a_side_has_at_most_1568_pixels(maker: type) -> None:
    assert image_of(maker(MAX_SIDE, 1)).width == MAX_SIDE
    for size in ((MAX_SIDE + 1, 1), (1, MAX_SIDE + 1)):
        with pytest.raises(InvalidRequest, match="more than 1568 pixels"):
            image_of(maker(*size))


def test_w21_a_side_without_pixels_is_damaged() -> None:
    for data in (jpeg(0, 5), jpeg(5, 0), png(0, 5)):
        with pytest.raises(InvalidRequest, match="damaged"):
            image_of(data)


def test_w21_an_image_has_at_most_a_megabyte_and_a_message_three() -> None:
    most = jpeg(bytes_more=MAX_BYTES - len(jpeg()))
    assert len(most) == MAX_BYTES
    assert len(images_in([url(most)] * 3)) == 3
    with pytest.raises(InvalidRequest, match="larger than 1 MB"):
        images_in([url(most + b"\0")])
    with pytest.raises(InvalidRequest, match="larger than 1 MB"):
        images_in([url(bytes(2 * MAX_BYTES))])
    with pytest.raises(InvalidRequest, match="At most 3 pictures"):
        images_in([url(png())] * 4)


def test_w21_a_model_that_sees_no_pictures_gets_the_texts() -> None:
    text, image = {"type": "text", "text": "What?"}, {"type": "image_url"}
    contents: list[object] = ["Hi", [text, image], [image]]
    given = [{"role": "user", "content": one} for one in contents]
    assert [one["content"] for one in texts_only(given)] == ["Hi", "What?", ""]


def test_w21_moving_pictures_are_refused() -> None:
    moving = png().replace(b"IDAT", b"acTL", 1)
    with pytest.raises(InvalidRequest, match="that move"):
        image_of(moving)
    with pytest.raises(InvalidRequest, match="that move"):
        image_of(webp().replace(b"ALPH", b"ANIM", 1))


def test_w21_damaged_base64_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="damaged"):
        images_in([url(png()) + "%"])


def test_w21_ten_thousand_damaged_files_are_read_or_refused() -> None:
    """No other error, nothing of the metadata is left, and no result is refused when it is sent
    again."""
    chance, read = random.Random(21), 0
    files = [maker(place=PLACE) for maker in MAKERS.values()]
    for _ in range(10_000):
        data = bytearray(chance.choice(files))
        for _ in range(chance.randint(0, 3)):
            at = chance.randrange(len(data))
            data[at] = chance.choice((0, 0xFF, chance.randrange(256)))
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        try:
            image = image_of(bytes(data))
        except InvalidRequest:
            continue
        read += 1
        assert image_of(image.data) == image
    assert read > 1000


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xd8" + b"\xff" * (MAX_BYTES - 2),
        b"\xff\xd8" + b"\xff\xfe\0\x02" * (MAX_BYTES // 4 - 1),
        b"\xff\xd8\xff\xda\0\x02" + b"\xff\0" * (MAX_BYTES // 2 - 3),
        png()[:33] + (b"\0\0\0\0tEXt" + bytes(4)) * (MAX_BYTES // 12 - 3),
        b"RIFF" + (MAX_BYTES - 8).to_bytes(4, "little") + b"WEBP" + b"XMP \0\0\0\0" * 131_070,
    ],
    ids=["fill bytes", "comments", "one scan", "chunks", "riff"],
)
def test_w21_a_file_of_tiny_parts_takes_no_time(data: bytes) -> None:
    began = thread_time()
    with pytest.raises(InvalidRequest, match="damaged"):
        image_of(data)
    assert thread_time() - began < 0.1


def test_w21_a_message_names_its_images() -> None:
    images = [image_of(jpeg()), image_of(png(7, 8))]
    assert described(5, stored(images)) == [
        {"id": "5-0", "type": "image/jpeg", "width": WIDTH, "height": HEIGHT},
        {"id": "5-1", "type": "image/png", "width": 7, "height": 8},
    ]
    assert stored([]) == ""
    assert place_of("5-1") == (5, 1)
    for wrong in ("", "0-1", "5", "5-10", "-1", "5-1\n", "٥-1", "5-1/..", "12345678901-1"):
        assert place_of(wrong) is None
