"""The lines that the pages of a site share are taken off, and what is no menu is kept once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kefu.knowledge.frame import parted
from kefu.knowledge.pages import Block, PageText

PHONE = Block("Call us: 555 1234")
MENU = Block("Home | Shop | Help", linked=True)
FOOTER = Block("Made in Bergen", outside=True)


def site(
    count: int, *shared: Block, title: str = "PageText {}", at: str = "shop.example"
) -> list[PageText]:
    return [
        PageText(
            f"https://{at}/{number}",
            title.format(number),
            [*shared, Block(f"Text of {number}")],
            "en",
        )
        for number in range(count)
    ]


def texts(pages: Sequence[PageText]) -> list[list[str]]:
    return [[block.text for block in page.blocks] for page in pages]


def test_a_shared_line_is_kept_once_and_a_menu_is_not() -> None:
    found = parted(site(8, MENU, PHONE))
    assert texts(found.own) == [[f"Text of {number}"] for number in range(8)]
    [shared] = found.shared
    assert (shared.title, shared.url, shared.language) == (
        "On every page",
        "https://shop.example/0",
        "en",
    )
    assert texts([shared]) == [[PHONE.text]]


@pytest.mark.parametrize(("on", "is_shared"), [(3, False), (4, True)])
def test_a_line_on_more_than_a_third_of_ten_pages_is_shared(on: int, is_shared: bool) -> None:
    pages = [*site(10, PHONE)[:on], *site(10)[on:]]
    found = parted(pages)
    assert sum(PHONE.text in page for page in texts(found.own)) == (0 if is_shared else on)
    assert len(found.shared) == is_shared


@pytest.mark.parametrize(("count", "stays"), [(4, True), (5, False)])
def test_with_fewer_than_five_pages_only_lines_outside_of_the_main_part_are_shared(
    count: int, stays: bool
) -> None:
    found = parted(site(count, PHONE, FOOTER))
    assert all((PHONE.text in page) is stays for page in texts(found.own))
    assert not any(FOOTER.text in page for page in texts(found.own))
    assert texts(found.shared) == [[FOOTER.text] if stays else [PHONE.text, FOOTER.text]]


def test_a_shared_line_between_lines_of_the_page_stays_and_is_no_line_of_every_page() -> None:
    """Most products of a shop have the same price, in the same words."""
    price, advert = Block("€25.00"), Block("Free gifts in May", outside=True)
    pages = [
        page._replace(
            blocks=[PHONE, Block(f"Shirt {at}", 1), price, MENU, advert, *page.blocks[1:], PHONE]
        )
        for at, page in enumerate(site(8, MENU))
    ]
    found = parted(pages)
    assert texts(found.own)[3] == ["Shirt 3", price.text, "Text of 3"]
    assert texts(found.shared) == [[PHONE.text, advert.text]]


@pytest.mark.parametrize("prices", [("€10.00", "€15.00"), ("€10.00", "€10.00")])
@pytest.mark.parametrize("texts_of_page", [1, 0])
def test_a_price_and_a_stock_stay_at_the_end_and_a_line_below_them_on_most_pages_does_not(
    prices: Sequence[str], texts_of_page: int
) -> None:
    pages = [
        page._replace(
            blocks=[
                Block(f"Shirt {at}", 1),
                *page.blocks[:texts_of_page],
                Block(prices[at % 2]),
                Block("In stock" if at % 3 else "Out of stock"),
                MENU,
                FOOTER._replace(outside=False),
            ]
        )
        for at, page in enumerate(site(20))
    ]
    pages[7] = pages[7]._replace(blocks=[Block("How we make shirts")])
    found = parted(pages)
    assert texts(found.own)[0] == [
        "Shirt 0",
        *["Text of 0"][:texts_of_page],
        prices[0],
        "Out of stock",
    ]
    assert texts(found.shared) == [[FOOTER.text]]


@pytest.mark.parametrize(
    ("usual", "rare"),
    [
        ("In stock", "Out-of-Stock"),
        ("Vorrätig", "Nicht vorrätig"),
        ("En stock", "Rupture de stock"),
        ("有现货", "无现货"),
    ],
)
def test_a_stock_stays_at_the_end_where_a_single_page_has_the_opposite(
    usual: str, rare: str
) -> None:
    pages = [
        page._replace(blocks=[*page.blocks, Block(rare if at == 7 else usual), PHONE])
        for at, page in enumerate(site(40))
    ]
    found = parted(pages)
    assert ["Text of 0", usual] in texts(found.own)
    assert ["Text of 7", rare] in texts(found.own)
    assert texts(found.shared) == [[PHONE.text]]


def test_an_address_at_the_end_of_nearly_all_pages_is_shared() -> None:
    last = Block("We ship to all countries of Europe from our shop"), Block("Visit our shop")
    pages = [
        page._replace(blocks=[*page.blocks, *([] if at == 7 else last)])
        for at, page in enumerate(site(40))
    ]
    pages[7] = pages[7]._replace(blocks=[Block("A long line of text that ends with our shop")])
    found = parted(pages)
    assert ["Text of 0"] in texts(found.own)
    assert texts(found.shared) == [[one.text for one in last]]


def test_a_price_stays_at_the_end_where_each_other_page_has_a_price_of_its_own() -> None:
    pages = [
        page._replace(blocks=[*page.blocks, Block(f"{max(at, 7)}.50 kr"), PHONE])
        for at, page in enumerate(site(20))
    ]
    found = parted(pages)
    assert texts(found.own)[0] == ["Text of 0", "7.50 kr"]
    assert texts(found.shared) == [[PHONE.text]]


def test_the_end_of_some_pages_is_shared_where_the_others_end_with_their_own_text() -> None:
    pages = [
        page._replace(blocks=[*page.blocks, PHONE][: 2 if at < 10 else 1])
        for at, page in enumerate(site(20))
    ]
    found = parted(pages)
    assert sorted(texts(found.own)) == sorted([f"Text of {number}"] for number in range(20))
    assert texts(found.shared) == [[PHONE.text]]


def test_the_columns_beside_posts_and_lists_are_shared_within_the_main_part_too() -> None:
    """So Hexo's Butterfly writes them: posts have the newest posts there, lists have the tags."""
    columns = [[Block(f"{name} {line}") for line in range(9)] for name in ("New post", "Tag")]
    pages = [
        page._replace(blocks=[*page.blocks, *columns[at % 2]]) for at, page in enumerate(site(20))
    ]
    found = parted(pages)
    assert sorted(texts(found.own)) == sorted([f"Text of {number}"] for number in range(20))


def test_the_line_below_a_heading_of_the_page_stays() -> None:
    """All products of some shops have the same price, and no other text."""
    price = Block("€25.00")
    pages = [page._replace(blocks=[Block(page.title, 1), price, PHONE]) for page in site(8)]
    found = parted(pages)
    assert texts(found.own)[3] == ["PageText 3", price.text]
    assert texts(found.shared) == [[PHONE.text]]


def test_the_end_of_the_pages_in_each_language_is_shared() -> None:
    german = [page._replace(language="de") for page in site(10)[5:]]
    pages = [
        page._replace(blocks=[*page.blocks, Block(f"Made in {page.language}")])
        for page in (*site(10)[:5], *german)
    ]
    found = parted(pages)
    assert texts(found.own) == [[f"Text of {number}"] for number in range(10)]
    assert sorted(texts(found.shared)) == [["Made in de"], ["Made in en"]]


def test_a_heading_is_kept_with_the_line_below_it_only() -> None:
    lonely, heading = Block("Follow us", 2), Block("Contact", 2)
    found = parted(site(8, heading, PHONE, lonely))
    assert texts(found.shared) == [["Contact", PHONE.text]]
    assert found.shared[0].blocks[0].level == 2


def test_a_line_of_links_on_most_pages_is_a_menu_also_where_it_is_none() -> None:
    """A menu shows the page itself often without a link."""
    pages = site(8, MENU)
    pages[0] = pages[0]._replace(blocks=[MENU._replace(linked=False), *pages[0].blocks[1:]])
    found = parted(pages)
    assert not any(MENU.text in page for page in texts(found.own))
    assert found.shared == []


@pytest.mark.parametrize("mark", [" | ", " - ", " – ", " — ", " · ", "_", " ["])
def test_the_end_of_most_titles_is_taken_off(mark: str) -> None:
    pages = site(8, title=f"PageText {{}}{mark}Example")
    pages[3] = pages[3]._replace(title="Another title")
    pages[4] = pages[4]._replace(title=f"{mark}Example")
    titles = [page.title for page in parted(pages).own]
    whole = pages[4].title
    assert titles == ["PageText 0", "PageText 1", "PageText 2", "Another title", whole, *titles[5:]]
    assert titles[5:] == ["PageText 5", "PageText 6", "PageText 7"]


@pytest.mark.parametrize(("alike", "is_cut"), [(4, False), (5, True)])
def test_an_end_of_half_of_the_titles_stays(alike: int, is_cut: bool) -> None:
    pages = [*site(8, title="PageText {} | Example")[:alike], *site(8, title="PageText {}")[alike:]]
    assert (parted(pages).own[0].title == "PageText 0") is is_cut


def test_each_host_and_each_language_has_a_frame_of_its_own() -> None:
    german = [page._replace(language="de-AT") for page in site(8, PHONE)[4:]]
    found = parted([*site(8, PHONE)[:4], *german, *site(8, FOOTER, at="other.example")])
    shared = {(page.url, page.language): texts([page])[0] for page in found.shared}
    assert shared == {
        ("https://other.example/0", "en"): [FOOTER.text],
        ("https://shop.example/0", "en"): [PHONE.text],
    }


@pytest.mark.parametrize(
    ("tag", "language", "title"), [("zh-CN", "zh", "每个页面上"), ("de", "de", "Auf jeder Seite")]
)
def test_the_frame_has_the_title_of_its_language_and_the_address_nearest_to_the_root(
    tag: str, language: str, title: str
) -> None:
    pages = [page._replace(language=tag) for page in site(8, PHONE)]
    pages[5] = pages[5]._replace(url="https://shop.example/index.html")
    pages[2] = pages[2]._replace(url="https://shop.example/a/b")
    [shared] = parted(pages).shared
    assert (shared.title, shared.url, shared.language) == (
        title,
        "https://shop.example/index.html",
        language,
    )


def test_a_site_whose_pages_are_all_alike_is_left_as_it_is() -> None:
    pages = [page._replace(blocks=[PHONE, MENU]) for page in site(8)]
    found = parted(pages)
    assert (texts(found.own), found.shared) == ([[PHONE.text, MENU.text]] * 8, [])
