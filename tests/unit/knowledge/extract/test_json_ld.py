"""G35: products, opening hours and addresses of JSON-LD are text, where the page does not show
them.
"""

from __future__ import annotations

import json

import pytest

from kefu.knowledge.extract.html import read_html

BAKERY = {
    "@context": "https://schema.org",
    "@type": "Bakery",
    "name": "Strand",
    "telephone": "+47 55 12 34 56",
    "email": "mailto:hei@strand.example",
    "address": {
        "@type": "PostalAddress",
        "streetAddress": "Strandgaten 4",
        "postalCode": "5004",
        "addressLocality": "Bergen",
    },
    "openingHours": ["Mo-Fr 08:00-17:00"],
    "openingHoursSpecification": [
        {
            "@type": "OpeningHoursSpecification",
            "dayOfWeek": ["https://schema.org/Saturday", "Sunday"],
            "opens": "10:00",
            "closes": "15:00",
        }
    ],
}
BOOT = {
    "@type": ["Product", "IndividualProduct"],
    "name": "Boot",
    "sku": "B-42",
    "brand": {"@type": "Brand", "name": "Fjell"},
    "description": "A  warm\nboot.",
    "aggregateRating": {"ratingValue": 4.5, "reviewCount": 12},
    "offers": [
        {"price": 89.5, "priceCurrency": "EUR", "availability": "https://schema.org/InStock"}
    ],
}
RANGE = {
    "@type": "Product",
    "name": "Sock",
    "offers": {
        "lowPrice": "5",
        "highPrice": "9",
        "priceCurrency": "CNY",
        "availability": "SoldOut",
    },
}


def texts(data: object, body: str = "", language: str = "en") -> list[str]:
    head = f"<script type=application/ld+json>{json.dumps(data)}</script><title>Page</title>"
    html = f"<html lang={language}><head>{head}</head><body>{body}</body></html>"
    return [one.text for one in read_html(html, "https://shop.example/").page.blocks]


def test_g35_a_business_has_its_telephone_address_and_hours() -> None:
    assert texts(BAKERY) == [
        "Strand",
        "Telephone: +47 55 12 34 56",
        "E-mail: hei@strand.example",
        "Address: Strandgaten 4, 5004, Bergen",
        "Open: Monday–Friday 08:00–17:00",
        "Open: Saturday Sunday 10:00–15:00",
    ]


def test_g35_facts_have_names_in_the_language_of_the_page() -> None:
    assert texts(BAKERY, language="zh-CN")[1:] == [
        "电话: +47 55 12 34 56",
        "邮箱: hei@strand.example",
        "地址: Strandgaten 4, 5004, Bergen",
        "营业时间: 星期一–星期五 08:00–17:00",
        "营业时间: 星期六 星期日 10:00–15:00",
    ]
    assert texts(RANGE, language="zh") == ["Sock", "价格: 5–9 CNY", "库存: 缺货"]


def test_g35_a_product_has_its_price_and_stock() -> None:
    assert texts(BOOT) == [
        "Boot",
        "Price: 89.5 EUR",
        "Availability: in stock",
        "Brand: Fjell",
        "Number: B-42",
        "Description: A warm boot.",
        "Rating: 4.5 / 5",
    ]
    assert texts({"@graph": [{"mainEntity": RANGE}]})[1:] == [
        "Price: 5–9 CNY",
        "Availability: sold out",
    ]


def test_g35_a_fact_that_the_page_shows_is_not_repeated() -> None:
    shown = texts(BAKERY, "<h1>Strand</h1><p>Call +47 55 12 34 56, Strandgaten 4, 5004, Bergen.")
    assert shown[2:] == [
        "E-mail: hei@strand.example",
        "Open: Monday–Friday 08:00–17:00",
        "Open: Saturday Sunday 10:00–15:00",
    ]
    assert texts([BAKERY, BAKERY]) == texts(BAKERY)


@pytest.mark.parametrize(
    "data",
    [
        {"@type": "Person", "name": "A. Author", "email": "a@b.example"},
        {"@type": "Product", "name": 7, "offers": "free", "brand": None, "sku": True},
        {
            "address": [],
            "openingHours": {"a": 1},
            "openingHoursSpecification": [None, {"opens": []}],
        },
        {"@type": None, "telephone": ["1", 2]},
    ],
)
def test_g35_authors_and_fields_of_other_kinds_are_passed_over(data: object) -> None:
    assert texts(data, "<p>Seen.</p>") == ["Seen."]
