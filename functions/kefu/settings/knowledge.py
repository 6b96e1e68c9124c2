"""Settings of the answers from the site's own pages: [knowledge]."""

from __future__ import annotations

import re
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator

from kefu.settings.fields import Names, Section, setting

_LINK = re.compile(r"https?://[^\s/#?]+(/[^\s#?]*)?")


def _addresses(links: tuple[str, ...]) -> tuple[str, ...]:
    for link in links:
        if not _LINK.fullmatch(link):
            raise ValueError(f"{link!r} is not an address such as https://shop.example.com/help")
    return links


class KnowledgeSettings(Section):
    TITLE: ClassVar = "Answers from your own pages"

    knowledge_sources: Names = setting(
        (),
        "knowledge.sources",
        "KEFU_KNOWLEDGE_SOURCES",
        "What `kefu learn` reads when it is given nothing, comma separated: addresses of sites, "
        "folders and files.",
        examples=["https://www.example.com"],
    )
    knowledge: str = setting(
        "site.kefu",
        "knowledge.file",
        "KEFU_KNOWLEDGE",
        "The file of learnt pages that answers come from, or its place in S3, such as "
        "`s3://BUCKET/site.kefu`: docs/knowledge.md. The default is used only if it is there.",
    )
    knowledge_links: Annotated[Names, AfterValidator(_addresses)] = setting(
        (),
        "knowledge.links",
        "KEFU_KNOWLEDGE_LINKS",
        "Addresses that answers may link to, each with all below it, comma separated. The pages "
        "that an answer cites and the site of the widget need no entry. All other links are shown "
        "as text.",
        examples=[["https://shop.example.com"]],
    )
    knowledge_rewrite: Literal["auto", "off"] = setting(
        "off",
        "knowledge.rewrite",
        "KEFU_KNOWLEDGE_REWRITE",
        "`off`: questions are searched in their own words. `auto`: the model first writes search "
        "words for a question whose own fit the pages badly, which takes up to 1.5 s.",
    )
