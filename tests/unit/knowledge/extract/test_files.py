"""G1: the files that a folder may contain, and the reasons for files that cannot be read."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence

import docx
import pytest
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from hypothesis import given
from hypothesis import strategies as st

from kefu.knowledge.extract.files import Unreadable, read_file
from kefu.knowledge.extract.markdown import read_markdown
from kefu.knowledge.pages import Block
from kefu.knowledge.passages import parts
from tests.fakes.files import pdf, word
from tests.fakes.growth import assert_linear

MARKDOWN = """---
title: "Delivery"
url: https://www.example.com/delivery
---
import Box from "./box"

# Delivery *times*

We ship on **working days**, see [the list](/list "List") and ![a van](van.png).
<!-- not shown -->
Second line.

## Norway {#no}
- 3 days
- `express`: 1 day

| From | To |
| --- | :-: |
| Oslo | Bergen |

```sh
# not a heading

ship --now
```
Underlined
----------
"""


def test_markdown_keeps_its_headings_lists_tables_and_code() -> None:
    page = read_markdown(MARKDOWN, "delivery.md")
    assert (page.title, page.url) == ("Delivery", "https://www.example.com/delivery")
    assert page.blocks == [
        Block("Delivery *times*", 1, "delivery-times"),
        Block("We ship on working days, see the list and a van."),
        Block("Second line."),
        Block("Norway", 2, "no"),
        Block("- 3 days"),
        Block("- express: 1 day"),
        Block("From | To"),
        Block("Oslo | Bergen", head="From | To"),
        Block("# not a heading\n\nship --now"),
        Block("Underlined", 2, "underlined"),
    ]


def lines(text: str) -> list[str]:
    return [block.text for block in read_markdown(text, "a.md").blocks]


@pytest.mark.parametrize(
    "text",
    [
        "import duties of 25 percent",
        "import and export of goods from the EU",
        "export declaration costs 40 euros.",
        "export default values as a file",
        "export class B goods",
        "[^1]: 2 GB per file",
        "[^1]: None",
        "[Note]: parcels above 30 kg cost more",
    ],
)
def test_markdown_keeps_a_line_that_only_looks_like_code_or_an_address(text: str) -> None:
    assert lines(f"The customer pays\n{text}\nin cash.") == [f"The customer pays {text} in cash."]


@pytest.mark.parametrize(
    "text",
    [
        'import Box from "./box"',
        "import Box, { type Lid } from './box';",
        "import * as boxes from './box'",
        "import './box.css';",
        "import {",
        "export const meta = {",
        "export default Layout;",
        "export default ({ children }) => <main>{children}</main>",
        "export default function Layout(props) {",
        "export default wrapped(Layout)",
        "export async function load() {",
        "export { load }",
        "export * from './box'",
        ":::note",
        "[list]: /list",
        "[list]: LIST",
        "[list]: <https://shop.example/a list>",
        "[list]: https://shop.example/list  'The list'",
        "[mail]: mailto:us@shop.example",
    ],
)
def test_markdown_leaves_out_code_of_mdx_and_addresses_of_links(text: str) -> None:
    assert lines(f"We ship.\n\n{text}\n\nDaily.") == ["We ship.", "Daily."]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('<TabItem value="b" label="Bosch">costs 350</TabItem>', "Bosch: costs 350"),
        ("<TabItem label='Bosch'>\ncosts 350\n</TabItem>", "Bosch: costs 350"),
        ('<Accordion title="By invoice?">\nYes.\n</Accordion>', "By invoice? Yes."),
        ('<Card title="Prices" href="/prices" />', "Prices:"),
        ('<Tab title="">npm</Tab>', "npm"),
        ('Of <abbr title="the Union">EU</abbr> law', "Of EU law"),
        (
            'Write `<Tab label="npm">` and `<b>` in <b>code</b>',
            'Write <Tab label="npm"> and <b> in code',
        ),
    ],
)
def test_markdown_keeps_tags_in_code_labels_of_tabs_and_titles_of_accordions(
    text: str, found: str
) -> None:
    """So Docusaurus, Mintlify and Starlight write them."""
    assert lines(text) == [found]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("## Using C#", "Using C#"),
        ("## Using C# ##", "Using C#"),
        ("## Hours #", "Hours"),
        ("## Hours ## {#hours}", "Hours"),
        ("## Hours {#hours}", "Hours"),
    ],
)
def test_a_heading_of_markdown_ends_before_the_marks_after_a_space(line: str, heading: str) -> None:
    assert lines(line) == [heading]


def test_a_word_file_keeps_its_headings_and_tables() -> None:
    page = read_file(word(), ".docx", "hours.docx")[0].page
    assert page.title == "Opening hours"
    assert page.blocks == [
        Block("Opening hours", 1),
        Block("We are open every day."),
        Block("Monday | 9 to 5"),
    ]


def word_of(body: str) -> Sequence[Block]:
    """The blocks of a Word file with this body."""
    document = docx.Document()
    names = "http://schemas.openxmlformats.org"
    parsed = parse_xml(
        f'<w:body xmlns:w="{names}/wordprocessingml/2006/main"'
        f' xmlns:mc="{names}/markup-compatibility/2006">{body}</w:body>'
    )
    for at, part in enumerate(parsed):
        document.element.body.insert(at, part)
    file = io.BytesIO()
    document.save(file)
    return read_file(file.getvalue(), ".docx", "a.docx")[0].page.blocks


def run(text: str) -> str:
    return f"<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>"


def sdt(content: str) -> str:
    return f"<w:sdt><w:sdtContent>{content}</w:sdtContent></w:sdt>"


@pytest.mark.parametrize(
    ("paragraph", "text"),
    [
        (f"{run('within ')}<w:ins>{run('30 days')}</w:ins>{run(' of')}", "within 30 days of"),
        ("<w:del><w:r><w:delText>14</w:delText></w:r></w:del>" + run("30"), "30"),
        (f"<w:moveFrom>{run('a')}</w:moveFrom><w:moveTo>{run('b')}</w:moveTo>", "b"),
        (run("call ") + sdt(run("555")), "call 555"),
        (f"<w:smartTag>{run('Oslo')}</w:smartTag>", "Oslo"),
        (f"<w:fldSimple w:instr='DATE'>{run('May')}</w:fldSimple>", "May"),
        (f"<w:hyperlink><w:ins>{run('a list')}</w:ins></w:hyperlink>", "a list"),
        (
            "<w:pPr><w:tabs><w:tab/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t></w:r>",
            "a\tb",
        ),
        ("<w:r><w:t>a</w:t><w:br/><w:t>b</w:t><w:br w:type='page'/></w:r>", "a\nb"),
        (f"<w:r><w:ruby><w:rt>{run('tuì')}</w:rt>{run('退')}</w:ruby></w:r>", "退"),
    ],
)
def test_a_paragraph_of_word_has_all_text_that_is_shown(paragraph: str, text: str) -> None:
    assert word_of(f"<w:p>{paragraph}</w:p>") == [Block(text)]


def test_the_content_controls_of_word_have_paragraphs_rows_and_cells() -> None:
    def cell(text: str) -> str:
        return f"<w:tc><w:p>{run(text)}</w:p></w:tc>"

    row = f"<w:tr>{cell('Oslo')}{sdt(cell('3 days'))}</w:tr>"
    assert word_of(sdt(f"<w:p>{run('Hello')}</w:p><w:tbl>{sdt(row)}</w:tbl>")) == [
        Block("Hello"),
        Block("Oslo | 3 days"),
    ]


def test_a_text_box_of_word_follows_its_paragraph_once() -> None:
    box = f"<w:txbxContent><w:p>{run('in the box')}</w:p></w:txbxContent>"
    choice = f"<mc:Choice Requires='wps'>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    paragraph = f"{run('before ')}<w:r><mc:AlternateContent>{choice}</mc:AlternateContent></w:r>"
    assert word_of(f"<w:p>{paragraph}{run('after')}</w:p>") == [
        Block("before after"),
        Block("in the box"),
    ]


@pytest.mark.parametrize("kind", ["footnote", "endnote"])
def test_a_note_of_word_follows_the_paragraph_that_refers_to_it(kind: str) -> None:
    names = "http://schemas.openxmlformats.org"
    reference = f"<w:r><w:{kind}Reference w:id='2'/></w:r>"
    notes = "".join(
        f"<w:{kind} w:id='{id}'><w:p>{run(text)}</w:p></w:{kind}>"
        for id, text in ((0, ""), (1, "Of another one."), (2, "Not for sale items."))
    )
    document = docx.Document()
    part = document.part
    part.relate_to(
        Part(
            PackURI(f"/word/{kind}s.xml"),
            f"application/vnd.openxmlformats-officedocument.wordprocessingml.{kind}s+xml",
            f"<w:{kind}s xmlns:w='{names}/wordprocessingml/2006/main'>{notes}</w:{kind}s>".encode(),
            part.package,
        ),
        f"{names}/officeDocument/2006/relationships/{kind}s",
    )
    paragraph = f"{run('Returns are free')}{reference}{run('.')}"
    parsed = parse_xml(f'<w:p xmlns:w="{names}/wordprocessingml/2006/main">{paragraph}</w:p>')
    document.element.body.insert(0, parsed)
    file = io.BytesIO()
    document.save(file)
    assert read_file(file.getvalue(), ".docx", "a.docx")[0].page.blocks == [
        Block("Returns are free."),
        Block("Not for sale items."),
    ]


def test_a_merged_cell_of_word_is_once_in_a_row_and_has_its_tables() -> None:
    document = docx.Document()
    table = document.add_table(3, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "Country"
    table.cell(0, 2).text = "Days"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "Norway"
    table.cell(1, 1).text, table.cell(1, 2).text = "Oslo", "3"
    table.cell(2, 1).text = "Bergen"
    inner = table.cell(2, 2).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "5", "by ship"
    file = io.BytesIO()
    document.save(file)
    assert read_file(file.getvalue(), ".docx", "a.docx")[0].page.blocks == [
        Block("Country | Days"),
        Block("Norway | Oslo | 3", head="Country | Days"),
        Block("Norway | Bergen | 5 | by ship", head="Country | Days"),
    ]


def test_the_table_of_contents_of_word_is_left_out() -> None:
    document = docx.Document()
    document.styles.add_style("toc 1", WD_STYLE_TYPE.PARAGRAPH)
    document.add_paragraph("Delivery\t3", "toc 1")
    document.add_heading("Delivery", 1)
    file = io.BytesIO()
    document.save(file)
    assert read_file(file.getvalue(), ".docx", "a.docx")[0].page.blocks == [Block("Delivery", 1)]


def test_a_table_of_questions_becomes_sections() -> None:
    page = read_file(b"Question,Answer\nDo you ship?,Yes.\nempty,\n", ".csv", "faq.csv")[0].page
    assert page.blocks == [Block("Do you ship?", 2, apart=True), Block("Yes.")]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("q,a\n x ,\ty\n", [("x", "y")]),
        ("a,note,q\ny,n,x\n", [("x", "y")]),
        ("A , Q\ny,x\n", [("x", "y")]),
        ("问题,答案\n问,答\n", [("问", "答")]),
        ("問題,回答\n問,答\n", [("問", "答")]),
        ("question,answer\n,y\nx,\nx\n", []),
        ('question,answer\n"x\nz","y, w"\nv,u\n', [("x\nz", "y, w"), ("v", "u")]),
        ("question;answer\nx, z;y\n", [("x, z", "y")]),
        ('"q, one";a;q\n;y;x\n', [("x", "y")]),
        ("question,q,answer\nx,no,y\n", [("x", "y")]),
        ("sep=;\r\nquestion;answer\r\nx, z;y\r\n", [("x, z", "y")]),
        ('"sep=,"\nq,a\nx;z,y\n', [("x;z", "y")]),
    ],
)
def test_the_columns_of_a_table_are_found_by_their_names(
    text: str, pairs: list[tuple[str, str]]
) -> None:
    page = read_file(text.encode(), ".csv", "https://example.com/help/faq.csv")[0].page
    blocks = [
        block for asked, told in pairs for block in (Block(asked, 2, apart=True), Block(told))
    ]
    assert (page.title, page.blocks) == ("faq.csv", blocks)


def test_a_text_has_a_block_for_each_paragraph() -> None:
    page = read_file(b"one\ntwo\n\n\n three \n\n", ".txt", "folder/a.txt")[0].page
    assert (page.title, page.blocks) == ("a.txt", [Block("one\ntwo"), Block("three")])


def test_five_lines_of_a_pdf_are_a_block() -> None:
    """A PDF has no paragraphs."""
    page = read_file(pdf([[f"line {n}" for n in range(7)], ["last"]]), ".pdf", "a.pdf")[0].page
    assert page.blocks == [
        Block("", anchor="page=1", apart=True),
        Block("\n".join(f"line {n}" for n in range(5))),
        Block("line 5\nline 6"),
        Block("", anchor="page=2", apart=True),
        Block("last"),
    ]
    assert page.title == "a.pdf"


def test_g35_a_page_of_a_pdf_has_the_headings_of_the_outline() -> None:
    """A page without a heading of its own continues the section of the page before."""
    sheets = [["Cover"], ["How to begin"], ["More on it"], ["Boots"], ["Socks"]]
    outline = [("Begin", 1, 1), ("First steps", 2, 1), ("Products", 1, 3), ("Socks", 2, 4)]
    page = read_file(pdf(sheets, outline), ".pdf", "a.pdf")[0].page
    found = [(part.blocks[0].anchor, part.blocks[1:]) for part in parts(page)]
    assert [(anchor, [one.text for one in blocks]) for anchor, blocks in found] == [
        ("page=1", ["Cover"]),
        ("page=2", ["Begin", "First steps", "How to begin"]),
        ("page=3", ["Begin", "First steps", "More on it"]),
        ("page=4", ["Products", "Boots"]),
        ("page=5", ["Products", "Socks", "Socks"]),
    ]
    assert {one.anchor for anchor, blocks in found for one in blocks if one.level} == {
        f"page={number}" for number in (2, 3, 4, 5)
    }


def test_the_pages_around_a_damaged_page_of_a_pdf_are_read() -> None:
    whole = pdf([["one"], ["two"], ["three"]])
    read, remark = read_file(whole.replace(b"6 0 obj", b"6 0 obx"), ".pdf", "a.pdf")
    assert [one.text for one in read.page.blocks if one.text] == ["one", "three"]
    assert remark == "damaged, without page 2"
    with pytest.raises(Unreadable, match="damaged, without page 1"):
        read_file(pdf([["one"]]).replace(b"4 0 obj", b"4 0 obx"), ".pdf", "a.pdf")


def test_g32_a_page_in_another_encoding_is_noted() -> None:
    page = "<meta charset=gbk><p>退货政策：七天内可以无理由退货。".encode("gbk")
    assert read_file(page, ".html", "a.html")[0].notes == ("read as gb18030",)
    assert read_file("<p>退货".encode(), ".html", "a.html")[0].notes == ()


def test_a_pdf_without_text_says_that_it_may_be_a_scan() -> None:
    with pytest.raises(Unreadable, match="a PDF without text, such as a scan"):
        read_file(pdf([[]]), ".pdf", "a.pdf")


@pytest.mark.parametrize("end", [".txt", ".csv", ".md"])
def test_bytes_that_are_no_text_are_refused(end: str) -> None:
    with pytest.raises(Unreadable, match="is no text"):
        read_file(bytes(range(256)) * 4, end, f"a{end}")


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * 60_000_000)
    return file.getvalue()


@pytest.mark.parametrize(
    ("end", "data", "reason"),
    [
        (".pdf", b"%PDF-1.7 cut off", "not a readable PDF"),
        (".docx", b"PK\x03\x04 cut off", "not a readable Word file"),
        (".csv", b"a,b\n1,2\n", "needs the columns"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(end: str, data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_file(data, end, f"file{end}")


def test_a_word_file_that_unpacks_to_60_mb_is_refused() -> None:
    with pytest.raises(Unreadable, match="unpacks to more than 50 MB"):
        read_file(bomb(), ".docx", "file.docx")


@pytest.mark.parametrize("piece", ["<!--", "![", "[a", "**a ", "{/*", "<a ", "`"])
def test_long_markdown_is_read_in_linear_time(piece: str) -> None:
    assert_linear(lambda size: piece * size, lambda text: read_markdown(text, "a.md"), 2000)


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        ("## a", " "),
        ("## a", "{#"),
        ("import ", "a "),
        ("import", " "),
        ("export default", " "),
        ("[a]: ", "/ "),
        ("<A", " title='"),
    ],
)
def test_a_long_line_of_markdown_is_read_in_linear_time(start: str, piece: str) -> None:
    assert_linear(
        lambda size: f"{start}{piece * size}x", lambda text: read_markdown(text, "a.md"), 2000
    )


@given(st.text())
def test_any_markdown_is_read(text: str) -> None:
    read_markdown(text, "a.md")
