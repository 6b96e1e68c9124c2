"""G30: the sample site that `make run` answers from."""

from __future__ import annotations

import re
from pathlib import Path

import kefu
from kefu.bootstrap.learn import Options, learn
from kefu.bootstrap.learnt_file import opened
from tests.fakes.asking import get
from tests.fakes.stage import Stage

SAMPLE = Path(kefu.__file__).parent / "web/static/sample"


async def test_each_page_is_served_and_its_links_lead_somewhere(shared: Stage) -> None:
    for page in SAMPLE.glob("*.html"):
        served = await get(shared.url, f"/sample/{page.name}")
        assert served.status_code == 200
        assert "default-src 'none'" in served.headers["content-security-policy"]
        for link in re.findall(r'href="(/sample/[^"]+)"', served.text):
            assert (SAMPLE / link.removeprefix("/sample/")).is_file()


def test_questions_find_their_page_with_a_link_to_it(tmp_path: Path) -> None:
    options = Options(tmp_path / "sample.kefu", "/sample")
    report = learn([str(SAMPLE)], options, lambda _: None)
    assert report.pages == len(list(SAMPLE.glob("*.html")))
    file = opened(str(tmp_path / "sample.kefu"))
    questions = {
        "How long does delivery take?": "delivery",
        "do I have to pay customs": "customs",
        "can I send it back": "returns",
        "which size of boots should I choose": "sizes",
        "when are you open on saturday": "contact",
        "几天退款": "zh",
    }
    for question, page in questions.items():
        assert file.find(question, (), 6)[0].url.startswith(f"/sample/{page}.html"), question
    file.close()


def test_the_questions_that_a_sample_page_suggests_find_their_pages(tmp_path: Path) -> None:
    learn([str(SAMPLE)], Options(tmp_path / "sample.kefu", "/sample"), lambda _: None)
    file = opened(str(tmp_path / "sample.kefu"))
    for page, pages in (
        ("index", ["delivery", "customs", "returns", "contact"]),
        ("zh", ["zh", "zh"]),
    ):
        html = (SAMPLE / f"{page}.html").read_text(encoding="utf-8")
        [suggested] = re.findall(r'data-suggestions="([^"]+)"', html)
        found = [file.find(question, (), 6)[0].url for question in suggested.split("|")]
        assert [url.partition(".html")[0].rpartition("/")[2] for url in found] == pages
    file.close()
