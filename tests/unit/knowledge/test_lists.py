"""The lists of a blog do not tell again what its posts tell."""

from __future__ import annotations

import pytest

from kefu.knowledge.lists import without_begins
from kefu.knowledge.pages import Block, PageText

BLOG = "https://blog.example"


def told(name: str) -> list[Block]:
    """What the post of that name tells, in more than 15 words."""
    numbers = " ".join(f"{name}{number}" for number in range(30))
    return [
        Block(f"About {name} we can tell that {numbers}."),
        Block(f"Bring the {name} yourself."),
    ]


def post(name: str) -> PageText:
    return PageText(f"{BLOG}/{name}", name.title(), [*told(name), Block("By Ada in News")])


def listed(name: str, level: int = 2) -> list[Block]:
    """As WordPress shows it: the begin without its lines, the date, and a way to the post."""
    begin = " ".join(one.text for one in told(name))
    return [Block(name.title(), level), Block(begin), Block("March 4, 2026 Continue reading")]


def page(name: str, *blocks: Block) -> PageText:
    return PageText(f"{BLOG}/{name}/", name, [Block(name, 1), *blocks])


OWN = [Block(one) for one in ("Lines", "of", "its own")]
POSTS = [post("rye"), post("spelt"), post("oven")]


def test_g35_lists_of_posts_are_left_without_text_and_the_posts_with_theirs() -> None:
    lists = [page(name, *listed("rye"), *listed("spelt")) for name in ("2026/03", "tag/bread")]
    assert without_begins([*POSTS, *lists]) == [
        *POSTS,
        *(one._replace(blocks=[]) for one in lists),
    ]


def test_g35_whole_posts_with_headings_of_their_own_are_taken_out_too() -> None:
    parts = [*told("rye"), Block("What to bring", 2), Block("An apron, and two good friends.")]
    rye = PageText(f"{BLOG}/rye", "Rye", parts)
    lists = [page(name, Block("Rye", 2), *parts, *listed("spelt")) for name in ("a", "b")]
    cleaned = without_begins([rye, *POSTS[1:], *lists])
    assert [one.blocks for one in cleaned[-2:]] == [[], []]


def test_g35_what_a_list_says_itself_stays() -> None:
    own = Block(" ".join(f"since{year}" for year in range(1924, 1950)))
    lists = [page(name, *listed("rye"), *listed("spelt"), own) for name in ("a", "b")]
    cleaned = without_begins([*POSTS, *lists])
    assert [one.blocks for one in cleaned[-2:]] == [[Block(name, 1), own] for name in ("a", "b")]


DATED = [
    [
        Block("Jan 19"),
        Block("Rye", 1),
        Block("Jan 4"),
        Block("Oven", 1),
        Block("News", linked=True),
    ],
    [Block("- 2026-01-19 Spelt"), Block("- 2026-01-04 Oven")],
    [Block("Rye 2024年3月5日")],
    [
        Block("All articles - 9"),
        Block("19. März 2026"),
        Block("Rye", 3),
        Block("3. Mai 2026"),
        Block("Oven"),
    ],
]


@pytest.mark.parametrize("entries", DATED)
def test_g35_of_the_lists_of_only_titles_and_dates_the_nearest_to_the_root_stays(
    entries: list[Block],
) -> None:
    """The archives of Hexo, Jekyll and Nikola: four of six passages for a question were lists."""
    nearest, *others = (page(name, *entries) for name in ("all", "2026/01", "tags/bread"))
    assert without_begins([*POSTS, *others, nearest]) == [
        *POSTS,
        *(one._replace(blocks=[]) for one in others),
        nearest,
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["Rye", "Spelt", "Oven"],
        ["1. Rye", "2. Spelt"],
        ["Rye", "€20.26", "Spelt", "£1 off"],
        ["March 4, 2026", "Rye", "We bake again from Monday on.", "The door is open."],
        ["2. Lexical", "2.1. Line structure", "3. Data model", "Rye", "Spelt"],
        ["Chapter 12", "Rye", "Chapter 13", "Spelt"],
        ["All that we know of flour. " * 3, *["2026-01-19 Rye"] * 9],
        ["Founded in 1924", "We bake in Bergen."],
    ],
    ids=["titles", "numbers", "prices", "text", "parts", "chapters", "a text", "no titles"],
)
def test_g35_other_lists_of_titles_stay(lines: list[str]) -> None:
    lists = [page(name, *map(Block, lines)) for name in ("a", "b")]
    assert without_begins([*POSTS, *lists]) == [*POSTS, *lists]


@pytest.mark.parametrize(
    "lists",
    [
        [page("one list", *listed("rye"))],
        [page(name, Block("Rye", 2), Block("€4.80")) for name in ("shop", "bread")],
        [page(name, Block("Rye", 2), Block("Another text. " * 9)) for name in ("a", "b")],
        [page(name, *listed("rye"), Block("Own", 2), *OWN) for name in ("a", "b")],
        [PageText(f"{BLOG}/{name}", "Rye", listed("rye", 1)) for name in ("copy", "print")],
    ],
    ids=["a first page", "prices of products", "of its own", "more of its own", "of that title"],
)
def test_g35_other_pages_keep_all(lists: list[PageText]) -> None:
    assert without_begins([*POSTS, *lists]) == [*POSTS, *lists]
