"""G9 to G11: the pages of a site that are read, the reasons for others, and a second run's
requests.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Iterator

import pytest

from kefu.knowledge.learning import PageOutcome, State
from kefu.upstream.crawl import crawl as crawl_module
from kefu.upstream.crawl.crawl import MAX_PAGES, Crawler
from kefu.upstream.crawl.fetch import Fetcher
from kefu.upstream.public_web import Address, is_public
from tests.fakes.site import Answer, Site, html, served

AGENT = "Kefu/1"


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Site()) as running:
        running.pages |= {
            "/help/": html("Help", "delivery", "returns#how", "old", "loop", "gone", "/shop/"),
            "/help/delivery": html("Delivery", "slow", "secret", "hidden", "login", "app", "far"),
            "/help/returns": html("Returns", "big", "photo.png", "copy", "data", "mailto:a@b.c"),
            "/help/old": Answer(b"", 301, location="/help/new"),
            "/help/new": html("New"),
            "/help/loop": Answer(b"", 302, location="/help/loop2"),
            "/help/loop2": Answer(b"", 302, location="/help/loop"),
            "/help/far": Answer(b"", 302, location="https://elsewhere.example/"),
            "/help/slow": lambda: html("Slow")._replace(seconds=20),
            "/help/secret": html("Secret"),
            "/help/hidden": html("Hidden", head="<meta name=robots content=noindex>"),
            "/help/login": html("In", body="<form><input type=password></form>Sign in"),
            "/help/account": Answer(b"", 401),
            "/help/app": html("App", body="<div id=root></div><script>run()</script>"),
            "/help/big": Answer(b"<p>" + b"x" * (6 << 20)),
            "/help/copy": html("Copy", head="<link rel=canonical href=/help/returns>"),
            "/help/data": Answer(b"\x00", type="application/octet-stream"),
            "/help/listed": html("Listed"),
            "/robots.txt": Answer(
                b"User-agent: *\nDisallow: /help/secret\nSitemap: %s/maps.xml\n"
                % running.url.encode(),
                type="text/plain",
            ),
            "/maps.xml": sitemap("sitemapindex", f"{running.url}/map.xml"),
            "/map.xml": sitemap(
                "urlset", f"{running.url}/help/listed", f"{running.url}/help/account"
            ),
        }
        yield running


def sitemap(root: str, *addresses: str) -> Answer:
    items = "".join(f"<url><loc>{one}</loc></url>" for one in addresses)
    return Answer(f"<?xml version='1.0'?><{root}>{items}</{root}>".encode(), type="text/xml")


class Result:
    def __init__(self, site: Site, outcomes: list[PageOutcome], bodies: int) -> None:
        self.outcomes = {one.url.removeprefix(site.url): one for one in outcomes}
        self.states: dict[str, State] = {one.url: one.state for one in outcomes if one.state}
        self.bodies = bodies

    def of(self, kind: str) -> set[str]:
        return {path for path, one in self.outcomes.items() if one.kind == kind}


async def crawl(
    site: Site,
    known: dict[str, State] | None = None,
    *,
    path: str = "/help/",
    max_pages: int = MAX_PAGES,
) -> Result:
    fetcher = Fetcher(AGENT, lambda _: True, timeout=8)
    try:
        start = f"{site.url}{path}"
        crawler = Crawler(start, fetcher, AGENT, known or {}, lambda _: None, max_pages)
        outcomes = await crawler.run()
    finally:
        await fetcher.aclose()
    return Result(site, outcomes, fetcher.bodies)


@pytest.mark.slow
async def test_each_page_is_learnt_or_reported_with_its_reason(site: Site) -> None:
    found = await crawl(site)
    assert found.of("learnt") == {
        "/help/",
        "/help/delivery",
        "/help/returns",
        "/help/new",
        "/help/listed",
    }
    reasons = {
        path: (one.kind, one.reason) for path, one in found.outcomes.items() if one.kind != "learnt"
    }
    assert reasons == {
        "/help/loop": ("failed", "redirects in a circle, as some sites do without cookies"),
        "/help/gone": ("failed", "404 Not Found"),
        "/help/slow": ("failed", "not complete within 8 s"),
        "/help/secret": ("skipped", "robots.txt does not allow it"),
        "/help/hidden": ("skipped", "asks not to be indexed (noindex)"),
        "/help/login": ("skipped", "asks for a sign-in"),
        "/help/account": ("skipped", "asks for a sign-in (401 Unauthorized)"),
        "/help/app": ("skipped", "shows its text only with JavaScript"),
        "/help/far": ("skipped", "leads to another site or folder"),
        "/help/big": ("skipped", "larger than 5 MB"),
        "/help/copy": ("skipped", f"is the same page as {site.url}/help/returns"),
        "/help/data": ("skipped", "application/octet-stream is not read"),
    }
    assert not {"/shop/", "/help/secret", "/help/photo.png"} & set(site.asked)


def easy(site: Site) -> None:
    """Replace the site's difficult pages by simple ones."""
    for path in ("slow", "big", "login", "app", "hidden", "copy", "data", "loop", "far", "account"):
        del site.pages[f"/help/{path}"]
    site.pages["/help/delivery"] = html("Delivery")
    site.pages["/help/returns"] = html("Returns")
    site.pages["/map.xml"] = sitemap("urlset", f"{site.url}/help/listed")
    site.pages["/help/"] = html("Help", "delivery", "returns", "old")


async def test_g34_pages_in_other_languages_are_read_and_noted(site: Site) -> None:
    links = "".join(f"<link rel=alternate hreflang={tag} href=/help/{tag}>" for tag in ("en", "zh"))
    site.pages |= {f"/help/{tag}": html(tag, head=links) for tag in ("en", "zh")}
    site.pages["/help/"] = html("Help", "en")
    first = await crawl(site)
    both = f"{site.url}/help/en\n{site.url}/help/zh"
    assert first.outcomes["/help/zh"].state["translations"] == both
    second = await crawl(site, first.states)
    assert "/help/zh" in second.of("unchanged")
    assert second.outcomes["/help/zh"].state["translations"] == both


async def test_g34_a_sitemap_names_the_pages_in_other_languages(site: Site) -> None:
    easy(site)
    links = "".join(
        f'<xhtml:link rel="alternate" hreflang="{tag}" href="{site.url}/help/{tag}?a=1&amp;b=2"/>'
        for tag in ("en", "zh")
    )
    entries = "".join(
        f"<url><loc>{site.url}/help/{tag}?a=1&amp;b=2</loc>{links}</url>" for tag in ("en", "zh")
    )
    alone = f"<url><loc>{site.url}/help/listed</loc></url>"
    text = f'<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml">{entries}{alone}</urlset>'
    site.pages["/map.xml"] = Answer(text.encode(), type="text/xml")
    site.pages |= {f"/help/{tag}?a=1&b=2": html(tag) for tag in ("en", "zh")}
    both = f"{site.url}/help/en?a=1&b=2\n{site.url}/help/zh?a=1&b=2"
    first = await crawl(site)
    second = await crawl(site, first.states)
    for report, kind in ((first, "learnt"), (second, "unchanged")):
        assert report.outcomes["/help/zh?a=1&b=2"].kind == kind
        assert report.outcomes["/help/zh?a=1&b=2"].state["translations"] == both
        assert "translations" not in report.outcomes["/help/returns"].state


async def test_an_unchanged_site_sends_no_page_again(site: Site) -> None:
    easy(site)
    first = await crawl(site)
    site.sent.clear()
    second = await crawl(site, first.states)
    assert second.of("unchanged") == first.of("learnt")
    assert set(site.sent) <= {"/robots.txt", "/maps.xml", "/map.xml", "/llms.txt", "/help/old"}


async def test_only_a_changed_page_is_read_again(site: Site) -> None:
    easy(site)
    first = await crawl(site)
    site.pages["/help/new"] = html("Newer")
    site.sent.clear()
    second = await crawl(site, first.states)
    assert second.of("learnt") == {"/help/new"}
    assert set(site.sent) & first.of("learnt") == {"/help/new"}


async def test_a_page_that_fails_keeps_its_text_and_one_gone_twice_leaves(site: Site) -> None:
    easy(site)
    first = await crawl(site)
    site.pages["/help/listed"] = Answer(b"", 503)
    del site.pages["/help/new"]
    second = await crawl(site, first.states)
    assert second.of("kept") == {"/help/listed", "/help/new"}
    assert second.outcomes["/help/listed"].reason.startswith("503 Service Unavailable")
    third = await crawl(site, second.states)
    assert third.of("kept") == {"/help/listed"}
    assert third.of("failed") >= {"/help/new"}


async def test_a_page_that_claims_not_to_have_changed_since_never_has_failed(site: Site) -> None:
    easy(site)
    site.pages["/help/returns"] = Answer(b"", 304)
    found = await crawl(site)
    assert found.outcomes["/help/returns"].reason == "304 Not Modified"


async def test_a_host_without_a_path_is_the_same_page_as_its_root(site: Site) -> None:
    site.pages = {"/": html("Shop", "/", site.url, "/a"), "/a": html("A", site.url)}
    fetcher = Fetcher(AGENT, lambda _: True)
    outcomes = await Crawler(site.url, fetcher, AGENT, {}, lambda _: None).run()
    await fetcher.aclose()
    assert [one.url for one in outcomes] == [f"{site.url}/", f"{site.url}/a"]


async def test_a_site_whose_rules_cannot_be_read_is_not_read(site: Site) -> None:
    site.pages["/robots.txt"] = Answer(b"", 500)
    found = await crawl(site)
    assert [one.reason for one in found.outcomes.values()] == [
        "robots.txt: 500 Internal Server Error"
    ]
    assert set(site.asked) == {"/robots.txt"}


async def test_a_site_without_rules_is_read(site: Site) -> None:
    easy(site)
    del site.pages["/robots.txt"]
    site.pages["/sitemap.xml"] = site.pages["/map.xml"]
    assert "/help/listed" in (await crawl(site)).of("learnt")


async def test_only_public_addresses_are_read(site: Site) -> None:
    """Requirement G10."""
    fetcher = Fetcher(AGENT, is_public)
    outcomes = await Crawler(f"{site.url}/help/", fetcher, AGENT, {}, lambda _: None).run()
    await fetcher.aclose()
    # owner D12: whoever learns a site on this machine reads what to do.
    private = "127.0.0.1 is not a public address (see --allow-private)"
    assert [one.reason for one in outcomes] == [f"robots.txt: {private}"]
    assert not site.asked


async def test_a_redirect_to_a_private_address_is_refused(site: Site) -> None:
    with served(Site()) as inner:
        inner.pages["/robots.txt"] = html("secret")
        site.pages["/robots.txt"] = Answer(b"", 302, location=f"{inner.url}/robots.txt")
        checked = list[Address]()

        def first_only(address: Address) -> bool:
            checked.append(address)
            return len(checked) == 1

        fetcher = Fetcher(AGENT, first_only)
        outcomes = await Crawler(f"{site.url}/help/", fetcher, AGENT, {}, lambda _: None).run()
        await fetcher.aclose()
        assert "is not a public address" in outcomes[0].reason
        assert not inner.asked


async def test_the_connection_goes_to_the_address_that_was_checked(site: Site) -> None:
    """A name that resolves to another address after the check has no effect (DNS rebinding)."""
    easy(site)
    port = site.url.rpartition(":")[2]
    loop = asyncio.get_running_loop()
    resolve, answers = loop.getaddrinfo, iter(["127.0.0.1"])

    async def rebinding(host: str, *rest: object, **more: object) -> object:
        """A resolver that first returns the server's address, then others."""
        name = next(answers, "10.255.255.1") if host == "shop.example" else host
        return await resolve(name, *rest, **more)  # type: ignore[arg-type]

    loop.getaddrinfo = rebinding  # type: ignore[assignment,method-assign]
    loopback = ipaddress.ip_address("127.0.0.1")
    fetcher = Fetcher(AGENT, lambda address: address == loopback)
    found = await fetcher.get(f"http://shop.example:{port}/help/new", {}, lambda _: "")
    assert found.body
    assert site.hosts == {f"shop.example:{port}": 1}
    crawler = Crawler(f"http://shop.example:{port}/help/", fetcher, AGENT, {}, lambda _: None)
    assert "10.255.255.1 is not" in (await crawler.run())[0].reason
    await fetcher.aclose()


@pytest.mark.parametrize("allowed", ["127.0.0.2", "127.0.0.1 127.0.0.2"])
async def test_the_next_allowed_address_is_asked_if_one_does_not_answer(
    site: Site, allowed: str
) -> None:
    port = site.url.rpartition(":")[2]
    loop = asyncio.get_running_loop()
    resolve = loop.getaddrinfo

    async def both(_: str, *rest: object, **more: object) -> object:
        return [
            one
            for host in ("127.0.0.2", "127.0.0.1")
            for one in await resolve(host, *rest, **more)  # type: ignore[arg-type]
        ]

    loop.getaddrinfo = both  # type: ignore[assignment,method-assign]
    fetcher = Fetcher(AGENT, lambda address: str(address) in allowed.split())
    crawler = Crawler(f"http://shop.example:{port}/help/new", fetcher, AGENT, {}, lambda _: None)
    found = await crawler.one()
    await fetcher.aclose()
    is_read = "127.0.0.1" in allowed
    assert (found.kind, found.reason) == (
        ("learnt", "") if is_read else ("failed", "could not be fetched (ConnectError)")
    )
    assert bool(site.asked) is is_read


async def test_pauses_that_the_site_asks_for_are_obeyed_or_the_site_is_left_alone(
    site: Site,
) -> None:
    site.pages["/robots.txt"] = Answer(b"User-agent: *\nCrawl-delay: 3600\n", type="text/plain")
    found = await crawl(site)
    assert [one.reason for one in found.outcomes.values()] == [
        "robots.txt asks for too long pauses"
    ]


async def test_g9_a_site_with_too_many_pages_is_cut_and_says_so(site: Site) -> None:
    easy(site)
    found = await crawl(site, max_pages=3)
    left = [one for one in found.outcomes.values() if one.reason == "more than 3 pages"]
    assert len(found.outcomes) - len(left) == 3
    assert left
    assert {one.kind for one in left} == {"skipped"}


def large(site: Site, count: int) -> None:
    names = [f"p{number}" for number in range(count)]
    site.pages = {f"/help/{name}": html(name) for name in names}
    site.pages["/help/"] = html("Help", *names)


@pytest.mark.slow
async def test_g9_the_next_runs_begin_with_the_pages_that_are_not_known(site: Site) -> None:
    """Each of 20 pages is learnt by the third run of 8, and asked again within three more."""
    large(site, 20)
    found = await crawl(site, max_pages=8)
    assert len(found.of("learnt")) == 8
    for known in (15, 21):
        found = await crawl(site, found.states, max_pages=8)
        assert len(found.of("learnt") | found.of("unchanged")) == known
    assert not found.of("skipped")
    site.pages |= {path: html(f"New {path}") for path in site.pages if path != "/help/"}
    changed = set[str]()
    for _ in range(3):
        found = await crawl(site, found.states, max_pages=8)
        changed |= found.of("learnt")
        assert len(found.of("learnt") | found.of("unchanged")) == 21
    assert len(changed) == 20


@pytest.mark.slow
async def test_g9_addresses_that_are_no_pages_keep_no_page_from_being_asked(site: Site) -> None:
    """A shop has more filters, and a wiki more forms, than a run reads. They lead elsewhere or ask
    not to be indexed, so the next run does not know them.
    """
    large(site, 4)
    filters = [f"f{number}" for number in range(12)]
    site.pages |= {
        f"/help/{one}": html(one, head="<meta name=robots content=noindex>") for one in filters
    }
    site.pages["/help/"] = html("Help", *filters, "p0", "p1", "p2", "p3")
    found = await crawl(site, max_pages=8)
    for _ in range(2):
        found = await crawl(site, found.states, max_pages=8)
    pages = {f"/help/p{number}" for number in range(4)}
    assert pages < found.of("learnt") | found.of("unchanged")
    site.pages |= {path: html(f"New {path}") for path in pages}
    assert (await crawl(site, found.states, max_pages=8)).of("learnt") == pages


async def test_g9_the_pages_in_the_menu_come_before_the_posts_of_a_sitemap(site: Site) -> None:
    """WordPress lists all posts first, the oldest before the others, and a shop its products."""
    easy(site)
    site.pages["/help/"] = html("Help", "delivery", "returns")
    site.pages |= {f"/help/post{number}": html(f"Post {number}") for number in range(3)}
    posts = (f"{site.url}/help/post{number}" for number in range(3))
    site.pages["/map.xml"] = sitemap("urlset", *posts, f"{site.url}/help/returns")
    found = await crawl(site, max_pages=4)
    assert found.of("learnt") == {"/help/", "/help/delivery", "/help/returns", "/help/post0"}
    assert found.outcomes["/help/post2"].reason == "more than 4 pages"


async def test_g9_a_run_ends_when_its_time_is_over_and_keeps_the_pages_of_the_last(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    easy(site)
    first = await crawl(site)
    site.pages["/map.xml"] = sitemap("urlset", f"{site.url}/help/listed", f"{site.url}/help/more")
    monkeypatch.setattr(crawl_module, "MAX_CRAWL_SECONDS", 0)
    second = await crawl(site, first.states)
    assert second.of("unchanged") == first.of("learnt")
    assert second.outcomes["/help/more"].reason == "no time was left"


async def test_k8_addresses_that_differ_in_tracking_only_are_one_page(site: Site) -> None:
    links = ["a?utm_source=x", "a?sort=asc&utm_medium=y", "a?ref=z#top", "a", "a?page=2&gclid=1"]
    site.pages = {"/help/": html("Help", *links), "/help/a": html("A")}
    site.pages["/help/a?page=2"] = html("A, continued")
    assert (await crawl(site)).of("learnt") == {"/help/", "/help/a", "/help/a?page=2"}


async def test_k8_a_filter_that_repeats_its_parameter_is_one_page(site: Site) -> None:
    links = ["a?rating=2", "a?rating=2&rating=2", "a?rating=2&size=1&rating=2", "a?rating=2&size=1"]
    site.pages = {"/help/": html("Help", *links)}
    site.pages |= {f"/help/{one}": html(one) for one in (links[0], links[3])}
    found = await crawl(site)
    assert set(found.outcomes) == {"/help/", *(f"/help/{one}" for one in links[::3])}


async def test_k8_products_are_read_before_filters(site: Site) -> None:
    site.pages = {"/help/": html("Help", "a?size=1&rating=2", "a?rating=2", "a", "b")}
    site.pages |= {f"/help/{name}": html(name) for name in ("a", "b", "a?rating=2")}
    found = await crawl(site, max_pages=4)
    assert found.of("learnt") == {"/help/", "/help/a", "/help/b", "/help/a?rating=2"}


async def test_k8_a_link_that_sets_a_cookie_changes_no_other_page(site: Site) -> None:
    euro = {"Set-Cookie": "currency=EUR; Path=/"}
    site.pages = {
        "/help/": html("Help", "currency", "price"),
        "/help/currency": Answer(b"", 302, location="/help/", more=euro),
        "/help/price": html("Price"),
    }
    assert (await crawl(site)).of("learnt") == {"/help/", "/help/price"}
    assert site.cookies == {"": site.asked.total()}


async def test_k8_the_sources_that_sphinx_lays_beside_its_pages_are_no_pages(site: Site) -> None:
    site.pages = {"/help/": html("Help", "_sources/index.rst.txt", "_modules/shop.html")}
    site.pages["/help/_sources/index.rst.txt"] = Answer(b"Help\n====\n", type="text/plain")
    site.pages["/help/_modules/shop.html"] = html("Source code for shop")
    assert (await crawl(site)).of("learnt") == {"/help/"}


@pytest.mark.parametrize(
    ("page", "source"),
    [
        ("fee", "fee.md"),
        ("fee/", "fee.md"),
        ("fee/", "fee/index.md"),
        ("fee.html", "fee.md"),
        ("fee.html", "fee.html.md"),
        ("fee/", "fee/index.rst"),
    ],
)
async def test_k8_the_source_beside_a_page_is_not_asked_for(
    site: Site, page: str, source: str
) -> None:
    """Nikola's "Source" and the "View as Markdown" of many sites of documentation."""
    site.pages = {
        "/help/": html("Help", page),
        f"/help/{page}": html("Fee", f"/help/{source}"),
        f"/help/{source}": Answer(b"# Fee\n\nThe fee is 4 pounds.", type="text/markdown"),
    }
    found = await crawl(site)
    assert set(found.outcomes) == {"/help/", f"/help/{page}"}
    assert site.asked[f"/help/{source}"] == 0


async def test_k8_the_source_of_a_page_that_needs_scripts_is_learnt(site: Site) -> None:
    app = html("Fee", body="<div id=root></div><script>run()</script><a href=/help/fee.md></a>")
    markdown = Answer(b"# Fee\n\nThe fee is 4 pounds.", type="text/markdown")
    site.pages = {"/help/": html("Help", "fee"), "/help/fee": app, "/help/fee.md": markdown}
    assert "/help/fee.md" in (await crawl(site)).of("learnt")


@pytest.mark.parametrize("www", ["https://", "http://www.", "https://www."])
async def test_k10_a_sitemap_with_the_sites_other_names_is_used(site: Site, www: str) -> None:
    easy(site)
    other = site.url.replace("http://", www)
    site.pages["/robots.txt"] = Answer(f"Sitemap: {other}/maps.xml".encode(), type="text/plain")
    site.pages["/maps.xml"] = sitemap("sitemapindex", f"{other}/map.xml")
    site.pages["/map.xml"] = sitemap("urlset", f"{other}/help/listed")
    assert "/help/listed" in (await crawl(site)).of("learnt")


async def test_k10_a_sitemap_says_which_of_its_addresses_are_not_used(site: Site) -> None:
    easy(site)
    shop, start = f"{site.url}/shop/", f"{site.url}/help/"
    site.pages["/map.xml"] = sitemap("urlset", f"{start}listed", shop, f"{shop}x")
    assert (await crawl(site)).outcomes["/map.xml"].reason == (
        f"1 of its 3 addresses are used: others, such as {shop}, are no pages below {start}"
    )


async def test_k10_a_sitemap_may_have_fifty_megabytes(site: Site) -> None:
    easy(site)
    padding = b"<!--" + b"x" * (6 << 20) + b"-->"
    listed = sitemap("urlset", f"{site.url}/help/listed")
    site.pages["/map.xml"] = listed._replace(body=padding + listed.body)
    assert "/help/listed" in (await crawl(site)).of("learnt")


@pytest.mark.slow
async def test_k11_a_site_that_asks_to_wait_is_asked_again(site: Site) -> None:
    easy(site)
    answers = iter([429, 503])

    def busy() -> Answer:
        status = next(answers, 200)
        more = {} if status == 200 else {"Retry-After": "1"}
        return html("Returns")._replace(status=status, more=more)

    site.pages["/help/returns"] = busy
    assert "/help/returns" in (await crawl(site)).of("learnt")
    assert site.asked["/help/returns"] == 3


async def test_k11_a_page_that_a_firewall_refuses_is_not_called_a_sign_in(site: Site) -> None:
    easy(site)
    first = await crawl(site)
    site.pages["/help/returns"] = Answer(b"", 403)
    second = await crawl(site, first.states)
    assert second.outcomes["/help/returns"].reason == (
        "refused (403): a firewall may block Kefu/1: its last text is kept"
    )


@pytest.mark.parametrize(
    ("path", "learnt"),
    [
        ("/help", {"/help", "/help/a"}),
        ("/help/index.html", {"/help/index.html", "/help/a", "/help/"}),
    ],
)
async def test_k12_an_address_without_a_slash_is_the_page_and_what_is_below_it(
    site: Site, path: str, learnt: set[str]
) -> None:
    links = ("/help/a", "/helpers", "/shop", "/help/")
    site.pages = dict.fromkeys(("/help", "/help/index.html", "/"), html("Help", *links))
    site.pages |= {"/help/a": html("A"), "/helpers": html("B"), "/shop": html("C")}
    site.pages["/help/"] = (
        html("Help") if path.endswith("l") else Answer(b"", 302, location="/help")
    )
    assert (await crawl(site, path=path)).of("learnt") == learnt


async def test_g35_links_of_llms_txt_are_followed(site: Site) -> None:
    easy(site)
    links = f"# Shop\n\n- [Notes](/help/notes.md): more\n- [Plain]({site.url}/help/plain)\n"
    site.pages["/llms.txt"] = Answer(links.encode(), type="text/plain")
    site.pages["/help/notes.md"] = Answer(b"# Notes\n\nBoots are **waxed**.", type="text/plain")
    site.pages["/help/plain"] = html("Plain")
    found = await crawl(site)
    assert found.of("learnt") >= {"/help/notes.md", "/help/plain"}
    page = found.outcomes["/help/notes.md"].page
    assert page
    assert [one.text for one in page.blocks] == ["Notes", "Boots are waxed."]


async def test_g9_a_byte_order_mark_hides_no_rule_and_no_link(site: Site) -> None:
    easy(site)
    links = f"\ufeff{site.url}/help/plain\n{site.url}/help/secret\n"
    site.pages["/llms.txt"] = Answer(links.encode(), type="text/plain")
    site.pages["/help/plain"] = html("Plain")
    rules = "\ufeffUser-agent: *\nDisallow: /help/secret\n"
    site.pages["/robots.txt"] = Answer(rules.encode(), type="text/plain")
    found = await crawl(site)
    assert "/help/plain" in found.of("learnt")
    assert found.outcomes["/help/secret"].reason == "robots.txt does not allow it"


@pytest.mark.parametrize(
    ("header", "is_learnt"),
    [
        ("noindex", False),
        ("NOFOLLOW, NoIndex", False),
        ("kefu: noindex", False),
        ("googlebot: noindex, nofollow", True),
        ("nofollow", True),
    ],
)
async def test_g9_a_header_can_keep_a_page_from_being_learnt(
    site: Site, header: str, is_learnt: bool
) -> None:
    easy(site)
    site.pages["/help/returns"] = html("Returns")._replace(more={"X-Robots-Tag": header})
    assert ("/help/returns" in (await crawl(site)).of("learnt")) is is_learnt


@pytest.mark.parametrize(
    ("meta", "header", "is_learnt"),
    [
        ("noindex, follow", "", True),
        ("", "noindex", True),
        ("NOINDEX, NOFOLLOW", "", False),
        ("none", "", False),
        ("noindex", "nofollow", False),
    ],
)
async def test_g9_a_list_of_posts_that_is_not_learnt_leads_to_its_posts(
    site: Site, meta: str, header: str, is_learnt: bool
) -> None:
    """So plugins of WordPress write the archives that alone link to older posts."""
    head = f"<meta name=robots content='{meta}'>"
    listed = html("2024", "/help/posts/old", "/help/2024?sort_by=name", head=head)
    site.pages = {
        "/help/": html("Blog", "2024"),
        "/help/2024": listed._replace(more={"X-Robots-Tag": header}),
        "/help/posts/old": html("Old"),
    }
    found = await crawl(site)
    assert found.outcomes["/help/2024"].reason == "asks not to be indexed (noindex)"
    assert ("/help/posts/old" in found.of("learnt")) is is_learnt
    assert not site.asked["/help/2024?sort_by=name"]


@pytest.mark.parametrize(
    ("asked", "to", "is_whole"),
    [
        ("/help/", "/help/wiki/Start", True),
        ("/help", "/help/en/", True),
        ("/docs", "/help/", True),
        ("/docs", "/help/wiki/Start", False),
    ],
)
async def test_g9_a_site_whose_start_leads_to_one_of_its_pages_is_read_whole(
    site: Site, asked: str, to: str, is_whole: bool
) -> None:
    """So wikis do, and documentation. A start that leads elsewhere is read from there."""
    easy(site)
    site.pages[to] = html("Start", "/help/returns")
    site.pages[asked] = Answer(b"", 302, location=to)
    found = await crawl(site, path=asked)
    assert to in found.of("learnt")
    assert ("/help/returns" in found.of("learnt")) is is_whole


async def test_g9_a_start_that_leads_to_another_host_is_read_from_there(site: Site) -> None:
    """Such as `sites.google.com/view/shop`, where the pages above belong to others."""
    with served(Site()) as host:
        host.pages |= {"/view/shop": html("Shop", "/view/other"), "/view/other": html("Other")}
        site.pages["/"] = Answer(b"", 302, location=f"{host.url}/view/shop")
        fetcher = Fetcher(AGENT, lambda _: True)
        outcomes = await Crawler(f"{site.url}/", fetcher, AGENT, {}, lambda _: None).run()
        await fetcher.aclose()
        assert [one.url for one in outcomes if one.kind == "learnt"] == [f"{host.url}/view/shop"]


@pytest.mark.parametrize("links", [("a", "b"), ("a/", "b/"), ("a", "b/", "b", "a/")])
async def test_g9_a_page_whose_canonical_leads_back_to_it_is_learnt(
    site: Site, links: tuple[str, ...]
) -> None:
    """Documentation whose canonical addresses have no slash, on a host that adds one."""
    site.pages = {"/help": Answer(b"", 301, location="/help/")}
    for name in ("a", "b"):
        head = f"<link rel=canonical href=/help/{name}>"
        site.pages[f"/help/{name}"] = Answer(b"", 301, location=f"/help/{name}/")
        site.pages[f"/help/{name}/"] = html(name, head=head)
    rest = (f"/help/{one}" for one in links)
    site.pages["/help/"] = html("Help", *rest, head="<link rel=canonical href=/help>")
    first = await crawl(site, path="/help")
    assert first.of("learnt") == {"/help/", "/help/a/", "/help/b/"}
    assert not first.of("failed")
    assert bool(site.asked["/help/a"]) is ("a" in links)
    second = await crawl(site, first.states, path="/help")
    assert second.of("unchanged") == first.of("learnt")


async def test_g9_of_versions_of_a_page_today_s_is_learnt_unless_another_is_named(
    site: Site,
) -> None:
    """Docusaurus has a banner on old and on coming versions, which are their own canonicals."""
    site.pages = {"/help/": html("Help", "fee", "1.0/fee", "next/fee"), "/help/fee": html("Fee")}
    for name in ("1.0", "next"):
        head = f"<link rel=canonical href=/help/{name}/fee>"
        banner = "<div class=theme-doc-version-banner>See <a href=/help/fee>today's</a></div>"
        body = f"{banner}<p>The fee of the version {name}.</p>"
        site.pages[f"/help/{name}/fee"] = html("Fee", head=head, body=body)
    found = await crawl(site)
    assert found.of("learnt") == {"/help/", "/help/fee"}
    assert found.of("skipped") == {"/help/1.0/fee", "/help/next/fee"}
    old = await crawl(site, path="/help/1.0/fee")
    assert old.of("learnt") == {"/help/1.0/fee"}


@pytest.mark.parametrize("links", [("a", "a/"), ("a/", "a"), ("a/", "b"), ("b", "a/")])
async def test_g9_a_page_with_and_without_a_slash_is_learnt_once(
    site: Site, links: tuple[str, ...]
) -> None:
    site.pages = {"/help/": html("Help", *links), "/help/b": html("B", "a")}
    for path in ("/help/a", "/help/a/"):
        site.pages[path] = html("A", head="<link rel=canonical href=/help/a>")
    learnt = (await crawl(site)).of("learnt")
    assert len(learnt & {"/help/a", "/help/a/"}) == 1


async def test_g9_a_page_that_sends_its_readers_on_is_followed(site: Site) -> None:
    easy(site)
    head = "<meta http-equiv=refresh content='0; url=target'>"
    site.pages["/help/returns"] = html("Moved, wait.", head=head)
    site.pages["/help/target"] = html("Target")
    found = await crawl(site)
    assert "/help/target" in found.of("learnt")
    assert found.outcomes["/help/returns"].reason == f"leads to {site.url}/help/target"


async def one(start: str) -> PageOutcome:
    fetcher = Fetcher(AGENT, lambda _: True)
    try:
        return await Crawler(start, fetcher, AGENT, {}, lambda _: None).one()
    finally:
        await fetcher.aclose()


async def test_g34_one_page_is_read_of_its_host_alone(site: Site) -> None:
    with served(Site()) as other:
        other.pages["/x"] = html("Other")
        site.pages["/help/far"] = Answer(b"", 302, location=f"{other.url}/x")
        found = await one(f"{site.url}/help/far")
        reason = f"leads to another host: {other.url}/x"
        assert found == PageOutcome(f"{site.url}/help/far", "skipped", reason)
        assert not other.asked


async def test_g34_one_page_may_lead_to_the_one_that_calls_it_canonical(site: Site) -> None:
    site.pages["/help/a"] = Answer(b"", 301, location="/help/a/")
    site.pages["/help/a/"] = html("A", head="<link rel=canonical href=/help/a>")
    for asked in ("/help/a", "/help/a?utm_source=x#top", "/help/a/"):
        found = await one(f"{site.url}{asked}")
        assert (found.url, found.kind) == (f"{site.url}/help/a/", "learnt")


@pytest.mark.slow
async def test_g11_an_unchanged_site_of_250_pages_sends_no_body_of_a_page(site: Site) -> None:
    easy(site)
    names = [f"page{number}" for number in range(250)]
    site.pages |= {f"/help/{name}": html(name) for name in names}
    site.pages["/help/"] = html("Help", *names)
    first = await crawl(site)
    assert len(first.of("learnt")) >= 250
    site.sent.clear()
    second = await crawl(site, first.states)
    assert second.of("unchanged") == first.of("learnt")
    assert not [path for path in site.sent if path.startswith("/help/page")]
