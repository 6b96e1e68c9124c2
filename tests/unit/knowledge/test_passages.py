"""G15: pages are cut along their headings into passages of about 300 tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kefu.knowledge.frame import parted
from kefu.knowledge.pages import Block, PageText
from kefu.knowledge.passages import MAX_BLOCK_BYTES, parts, passages

LONG = "A sentence that says something of use to a visitor. " * 6


def page(*blocks: Block, title: str = "Help") -> PageText:
    return PageText("https://example.com/help", title, blocks)


def test_a_passage_has_the_headings_above_it_and_a_link_to_the_nearest() -> None:
    first, second = passages(
        page(
            Block("Help", 1, "top"),
            Block("Returns", 2, "returns"),
            Block(LONG),
            Block("Refunds", 3, "refunds"),
            Block(LONG * 4),
        )
    )
    assert first.headings == ("Returns",)
    assert first.anchor == "returns"
    assert second.headings == ("Returns", "Refunds")
    assert second.anchor == "refunds"


def test_small_sections_are_joined_and_keep_their_headings() -> None:
    (only,) = passages(
        page(Block("Fees", 2), Block("None."), Block("Taxes", 2), Block("Included."))
    )
    assert only.text == "None.\nTaxes\nIncluded."
    assert only.inside == ("Taxes",)


def test_a_heading_above_several_small_sections_is_a_line_once() -> None:
    """It stood before each of them, such as before each question of a short list."""
    blocks = [Block("Ask us."), Block("Stay", 2), Block("Pets?", 3), Block("Yes.")]
    blocks += [Block("Children?", 3), Block("Yes."), Block("Pay", 2), Block("Cards?", 3)]
    (only,) = passages(page(*blocks, Block("No.")))
    assert only.text == "Ask us.\nStay\nPets?\nYes.\nChildren?\nYes.\nPay\nCards?\nNo."
    assert only.inside == ("Stay", "Pets?", "Children?", "Pay", "Cards?")


def test_a_heading_without_text_is_shown_with_the_next_section() -> None:
    cut = passages(page(Block("Prices", 2), Block("Europe", 2, "eu"), Block(LONG)))
    assert [one.text for one in cut] == [f"Prices\n{LONG}"]


def test_headings_without_text_do_not_keep_the_link_from_the_text_below_them() -> None:
    """The passage's link leads to the heading above its text."""
    blocks = [Block("A", 2, "a"), Block("B", 2, "b"), Block("C", 2, "c"), Block("Text.")]
    (only,) = passages(page(*blocks))
    assert (only.headings, only.anchor, only.text) == (("C",), "c", "A\nB\nText.")
    assert only.inside == ("A", "B")


def test_g35_each_passage_of_a_table_begins_with_its_header_row() -> None:
    head = "Country | Standard | Express"
    rows = [Block(f"Country {n} | {n} euros | {2 * n} euros", head=head) for n in range(200)]
    cut = passages(page(Block("Prices", 2), Block(head), *rows))
    assert len(cut) > 3
    assert all(one.text.startswith(f"{head}\nCountry ") for one in cut)
    assert [line for one in cut for line in one.text.split("\n")[1:]] == [row.text for row in rows]
    assert all(len(one.text) <= MAX_BLOCK_BYTES for one in cut)


def test_g35_code_keeps_its_lines() -> None:
    lines = [f"    if x > {number}: y = {number}; z = f(y) ? 1 : 2" for number in range(200)]
    cut = passages(page(Block("\n".join(["def f():", *lines]))))
    assert len(cut) > 4
    assert [line for one in cut for line in one.text.split("\n")] == ["def f():", *lines]


def test_g35_a_part_of_a_page_is_cut_by_itself_and_may_have_its_own_title() -> None:
    rows = [Block("Do you ship?", 2, apart=True), Block("Yes."), Block("Fees?", 2, apart=True)]
    sheets = [Block("", anchor="page=1", apart=True), Block("One."), Block("Intro", 2, "page=1")]
    whole = page(Block("First."), *rows, Block("None."), *sheets, title="FAQ")
    found = [
        (part.title, one.anchor, one.headings, one.text)
        for part in parts(whole)
        for one in passages(part)
    ]
    assert found == [
        ("FAQ", "", (), "First."),
        ("Do you ship?", "", (), "Yes."),
        ("Fees?", "", (), "None."),
        ("FAQ", "page=1", (), "One.\nIntro"),
    ]
    assert list(parts(page(Block("a"), Block("b")))) == [page(Block("a"), Block("b"))]


def test_headings_without_text_are_above_the_passage_below_them() -> None:
    blocks = [Block("A", 1), Block("B", 2), Block("C", 3, "c"), Block(LONG)]
    (only,) = passages(page(*blocks))
    assert (only.headings, only.text) == (("A", "B", "C"), LONG)
    (only,) = passages(page(Block("A", 2), Block("B", 2), Block(LONG), Block("end")))
    assert (only.headings, only.text, only.inside) == (("B",), f"A\n{LONG}\nend", ("A",))


def test_a_heading_of_the_same_level_ends_the_one_before() -> None:
    blocks = [Block("A", 2), Block(LONG * 4), Block("B", 3), Block(LONG * 4)]
    blocks += [Block("C", 3), Block(LONG * 4), Block("D", 2), Block(LONG * 4)]
    found = [one.headings for one in passages(page(*blocks))]
    assert found == [("A",), ("A", "B"), ("A", "C"), ("D",)]


def test_the_title_of_the_page_is_no_text_and_no_heading_of_its_passages() -> None:
    (only,) = passages(page(Block("Help", 1), Block("Help"), Block(LONG), title="Help"))
    assert (only.headings, only.text) == ((), LONG)


@pytest.mark.parametrize("text", ["x" * 10_000, "word " * 2000, "字" * 4000])
def test_a_sentence_without_an_end_is_cut_at_spaces_or_anywhere(text: str) -> None:
    cut = passages(page(Block(text)))
    assert all(len(one.text.encode()) <= MAX_BLOCK_BYTES for one in cut)
    assert "".join(one.text for one in cut).replace(" ", "") == text.replace(" ", "")
    assert len(cut) <= len(text.encode()) // 900 + 1
    if " " in text:
        assert all(set(one.text.split()) == {"word"} for one in cut)


@given(
    st.lists(
        st.builds(Block, st.text(max_size=4000), st.integers(0, 6), st.sampled_from(["", "a"])),
        max_size=12,
    )
)
def test_no_passage_is_longer_than_the_model_can_be_given_six_of(blocks: list[Block]) -> None:
    for one in passages(page(*blocks)):
        assert len("\n".join(one.text.splitlines()).encode(errors="replace")) <= 3 * MAX_BLOCK_BYTES


def test_all_text_of_a_page_is_in_its_passages() -> None:
    words = [f"word{number}" for number in range(4000)]
    blocks = [Block(" ".join(words[at : at + 900])) for at in range(0, 4000, 900)]
    cut = passages(page(*blocks))
    assert " ".join(" ".join(one.text for one in cut).split()) == " ".join(words)
    assert max(len(one.text) for one in cut) <= MAX_BLOCK_BYTES


def site(count: int) -> list[PageText]:
    return [
        page(
            Block("Menu"),
            Block(f"Text of page {number}"),
            Block("© Example"),
            title=f"Page {number} | Example",
        )
        for number in range(count)
    ]


def test_lines_on_many_pages_and_the_name_of_the_site_are_removed() -> None:
    shown = parted(site(6)).own[3]
    assert shown.title == "Page 3"
    assert [block.text for block in shown.blocks] == ["Text of page 3"]


def test_a_site_of_few_pages_keeps_its_repeated_lines() -> None:
    pages = site(4)
    assert [one.blocks for one in parted(pages).own] == [list(one.blocks) for one in pages]
