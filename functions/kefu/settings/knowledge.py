"""Settings of the answers from the site's own pages: [knowledge]."""

from __future__ import annotations

from typing import ClassVar, Literal

from kefu.settings.fields import Names, Section, setting


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
    knowledge_rewrite: Literal["auto", "off"] = setting(
        "off",
        "knowledge.rewrite",
        "KEFU_KNOWLEDGE_REWRITE",
        "`off`: questions are searched in their own words. `auto`: the model first writes search "
        "words for a question whose own fit the pages badly, which takes up to 1.5 s.",
    )
