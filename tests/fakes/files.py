"""Small files of each kind that `kefu learn` reads, and damaged copies of them."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Iterator, Sequence

import docx

HTML = b"""<!doctype html><html lang=en><head><title>Boots</title><base href="/help/">
<link rel=canonical href="https://www.example.com/boots"><meta name=description content=x></head>
<body><nav><a href=/>Home</a></nav><main><h1 id=boots>Boots</h1><p>We sell <b>boots</b> &amp; more.
<table><tr><td>Size<td>42</table><ul><li><a href="returns?a=1#b">Returns</a></ul></main>"""

CSV = b"""question,answer\n"Do you ship, and where?",Yes.\n"A ""quoted"" one",Also.\n"""

MARKDOWN = b"""---\ntitle: "Delivery"\n---\n# Delivery *times*\n\n- 3 days, see [the list](/list)
- `express`: 1 day\n\n| From | To |\n| --- | --- |\n| Oslo | Bergen |\n\n```sh\nship --now\n```\n"""

ROBOTS = b"""User-agent: *\nDisallow: /a*b$\nAllow: /a\nCrawl-delay: 2\nRequest-rate: 1/5
Sitemap: https://www.example.com/sitemap.xml.gz\n"""

SITEMAP = gzip.compress(
    b"""<?xml version='1.0'?><urlset><url><loc>https://www.example.com/boots</loc></url>"""
    b"""<url><loc><![CDATA[https://www.example.com/help?a=1&b=2]]></loc></url></urlset>"""
)


def pdf(pages: Sequence[Sequence[str]], outline: Sequence[tuple[str, int, int]] = ()) -> bytes:
    """A PDF with lines of text in Helvetica. In every other line, each word has its own place.

    `outline`: headings in order, each with its level from 1 and the number of its page from 0.
    """
    first = 4 + 2 * len(pages)
    entries = f" /Outlines {first} 0 R" if outline else ""
    objects = [f"<< /Type /Catalog /Pages 2 0 R{entries} >>"]
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects.append(f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    for number, lines in enumerate(pages):
        resources = "/Resources << /Font << /F1 3 0 R >> >> /MediaBox [0 0 595 842]"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R {resources} /Contents {5 + 2 * number} 0 R >>"
        )
        shown = "".join(
            f"[({line.replace(' ', ') -300 (')})] TJ T*\n" if at % 2 else f"({line}) Tj T*\n"
            for at, line in enumerate(lines)
        )
        stream = f"BT /F1 11 Tf 14 TL 60 780 Td\n{shown}ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects += _outline(outline, first) if outline else []
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    out += f"xref\n0 {size}\n0000000000 65535 f \n{table}"
    out += f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{out.index('xref')}\n%%EOF\n"
    return out.encode("ascii")


def _outline(outline: Sequence[tuple[str, int, int]], first: int) -> Iterator[str]:
    """The objects of an outline; the root has the number `first`, the headings follow it."""
    above, below = [(first, 0)], dict[int, list[int]]()
    parents = list[int]()
    for number, (_, level, _) in enumerate(outline, first + 1):
        while above[-1][1] >= level:
            above.pop()
        parents.append(above[-1][0])
        below.setdefault(above[-1][0], []).append(number)
        above.append((number, level))

    def children(number: int) -> str:
        inner = below.get(number)
        return f"/First {inner[0]} 0 R /Last {inner[-1]} 0 R /Count {len(inner)}" if inner else ""

    yield f"<< /Type /Outlines {children(first)} >>"
    for number, ((name, _, page), parent) in enumerate(
        zip(outline, parents, strict=True), first + 1
    ):
        later = [one for one in below[parent] if one > number]
        next_one = f"/Next {later[0]} 0 R" if later else ""
        place = f"/Dest [{4 + 2 * page} 0 R /Fit]"
        yield f"<< /Title ({name}) /Parent {parent} 0 R {place} {next_one} {children(number)} >>"


def word() -> bytes:
    document = docx.Document()
    document.add_heading("Opening hours", 1)
    document.add_paragraph("We are open every day.")
    row = document.add_table(1, 2).rows[0].cells
    row[0].text, row[1].text = "Monday", "9 to 5"
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def damaged(data: bytes, count: int) -> Iterator[bytes]:
    """Copies that are cut, with flipped bytes, or with parts that are doubled or missing."""
    rng = random.Random(data)
    for number in range(count):
        copy = bytearray(data)
        start, end = sorted((rng.randrange(len(data)), rng.randrange(len(data))))
        match number % 4:
            case 0:
                del copy[end:]
            case 1:
                for _ in range(rng.choice((1, 4, 30))):
                    copy[rng.randrange(len(copy))] = rng.randrange(256)
            case 2:
                copy[end:end] = copy[start:end]
            case _:
                del copy[start : min(end, start + 40)]
        yield bytes(copy)
