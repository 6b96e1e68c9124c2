"""Images as a browser and a phone make them, with and without what must be cut away."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode

from kefu.images import images_in
from kefu.messages import Image

WIDTH, HEIGHT = 40, 30
"""Pixels of the images that are not made to another size."""

PLACE = b"GPS 48.8584 N 2.2945 E"
"""The text that only metadata contain."""

# What Chromium's canvas writes: with a colour profile, and the last one with transparent pixels.
_JPEG = b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/4gHYSUNDX1BST0ZJTEUAAQEAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAA"
    "EAAAAAAABhY3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKA"
    "AAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAAABZAAAAChiVFJDAAABZAAAAChjcHJ0"
    "AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1AAADkFhZWi"
    "AAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQA"
    "AAACZmYAAPKnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbA"
    "BlACAASQBuAGMALgAgADIAMAAxADb/2wBDABsSFBcUERsXFhceHBsgKEIrKCUlKFE6PTBCYFVlZF9VXVtqeJmBanGQ"
    "c1tdhbWGkJ6jq62rZ4C8ybqmx5moq6T/2wBDARweHigjKE4rK06kbl1upKSkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpK"
    "SkpKSkpKSkpKSkpKSkpKSkpKSkpKSkpKT/wAARCAAeACgDASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAT/"
    "xAAUEAEAAAAAAAAAAAAAAAAAAAAA/8QAFgEBAQEAAAAAAAAAAAAAAAAAAwQC/8QAFhEBAQEAAAAAAAAAAAAAAAAAAQ"
    "AC/9oADAMBAAIRAxEAPwCYBnJX61ADZKfWoAYIHUABkqdMANkp9MAKEC3/2Q=="
)
_WEBP = b64decode(
    "UklGRlACAABXRUJQVlA4WAoAAAAwAAAAJwAAHQAASUNDUMgBAAAAAAHIAAAAAAQwAABtbnRyUkdCIFhZWiAH4AABAA"
    "EAAAAAAABhY3NwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAQAA9tYAAQAAAADTLQAAAAAAAAAAAAAAAAAAAAAA"
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAlkZXNjAAAA8AAAACRyWFlaAAABFAAAABRnWFlaAAABKA"
    "AAABRiWFlaAAABPAAAABR3dHB0AAABUAAAABRyVFJDAAABZAAAAChnVFJDAAABZAAAAChiVFJDAAABZAAAAChjcHJ0"
    "AAABjAAAADxtbHVjAAAAAAAAAAEAAAAMZW5VUwAAAAgAAAAcAHMAUgBHAEJYWVogAAAAAAAAb6IAADj1AAADkFhZWi"
    "AAAAAAAABimQAAt4UAABjaWFlaIAAAAAAAACSgAAAPhAAAts9YWVogAAAAAAAA9tYAAQAAAADTLXBhcmEAAAAAAAQA"
    "AAACZmYAAPKnAAANWQAAE9AAAApbAAAAAAAAAABtbHVjAAAAAAAAAAEAAAAMZW5VUwAAACAAAAAcAEcAbwBvAGcAbA"
    "BlACAASQBuAGMALgAgADIAMAAxADZBTFBIFAAAAAEPMP8REUJIQPi/1gMP5Ij+B1hDVlA4IEYAAAAwAwCdASooAB4A"
    "PxFyr1GsJqQisBqoAYAiCUAAFPKtPKpgAP7x24485hujWPhUIX/YTK/aHMp+VhRIElWNB9Z0LkhMLgAA"
)


def url(data: bytes, name: str = "image/jpeg") -> str:
    """The data URL of a file that is said to have the type `name`."""
    return f"data:{name};base64,{b64encode(data).decode()}"


def image_of(data: bytes) -> Image:
    """What is left of a file. Raises InvalidRequest."""
    (image,) = images_in([url(data)])
    return image


def jpeg(
    width: int = WIDTH, height: int = HEIGHT, *, place: bytes = b"", bytes_more: int = 0
) -> bytes:
    """A photo. `place` is written as EXIF, IPTC, XMP, a comment and behind the end.

    `bytes_more`: so many bytes of data are added to the scan.
    """
    start = _JPEG.index(b"\xff\xc0")
    sized = _JPEG[: start + 5] + struct.pack(">HH", height, width) + _JPEG[start + 9 : -2]
    more = _segment(0xFE, place) + _segment(0xE1, b"Exif\0\0" + place) if place else b""
    more += _segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + place) if place else b""
    more += _segment(0xED, b"Photoshop 3.0\0" + place) if place else b""
    return sized[:2] + more + sized[2:] + b"\x2a" * bytes_more + b"\xff\xd9" + place


def png(width: int = WIDTH, height: int = HEIGHT, *, place: bytes = b"") -> bytes:
    """A grey picture. `place` is written in every chunk of metadata, and behind the end."""
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    kinds = (b"eXIf", b"tEXt", b"iTXt", b"zTXt", b"tIME", b"prVt") if place else ()
    pixels = zlib.compress((b"\0" + b"\x80" * width) * height)
    body = b"".join(_chunk(name, place) for name in kinds) + _chunk(b"IDAT", pixels)
    return b"\x89PNG\r\n\x1a\n" + head + body + _chunk(b"IEND", b"") + place


def webp(width: int = WIDTH, height: int = HEIGHT, *, place: bytes = b"") -> bytes:
    """A picture with transparent pixels. `place` is written as EXIF and XMP, and behind the end."""
    frame = _WEBP.index(b"VP8 ") + 14
    body = bytearray(_WEBP[8:])
    body[frame - 8 : frame - 4] = struct.pack("<HH", width, height)
    canvas = body.index(b"VP8X") + 12
    body[canvas : canvas + 6] = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(
        3, "little"
    )
    for name in (b"EXIF", b"XMP ") if place else ():
        body += name + struct.pack("<I", len(place)) + place + b"\0" * (len(place) % 2)
        body[body.index(b"VP8X") + 8] |= 0x0C
    return b"RIFF" + struct.pack("<I", len(body)) + bytes(body) + place


def _segment(marker: int, content: bytes) -> bytes:
    return struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content


def _chunk(name: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + name
        + content
        + struct.pack(">I", zlib.crc32(name + content))
    )


SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(64)
PDF = b"%PDF-1.7\n1 0 obj <</Type /Catalog>> endobj\n%%EOF"
GIF = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;"
