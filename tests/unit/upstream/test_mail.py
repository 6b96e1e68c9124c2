"""H22: mails over SMTP, to a real server: signed in, over TLS, and never in the open."""

from __future__ import annotations

from pathlib import Path

import pytest

from kefu.upstream.mail import SmtpMail
from tests.fakes.certificate import self_signed
from tests.fakes.mailbox import PASSWORD, Mailbox

TEXT = "> Grüße, 客服 🙂\n> .\n> a \udcff lone surrogate\n" + "x" * 3000 + "\n"


async def test_h22_a_mail_arrives_as_it_was_written() -> None:
    with Mailbox() as mailbox:
        assert await SmtpMail(mailbox.url(), PASSWORD).publish("A visitor asks", TEXT) == ""
        [mail] = mailbox.got
        assert mailbox.recipients == [["help@example.com"]]
    assert (mail["Subject"], mail["To"]) == ("A visitor asks", "help@example.com")
    assert mail["From"] == "chat@example.com"
    assert mail["Message-ID"].endswith("@example.com>")
    assert mail["Date"]
    assert mail.get_content().replace("\r\n", "\n") == TEXT.replace("\udcff", "?")


async def test_h22_a_failure_is_named_without_the_text_or_the_password() -> None:
    with Mailbox() as mailbox:
        mailbox.refusals = 1
        right, wrong = SmtpMail(mailbox.url(), PASSWORD), SmtpMail(mailbox.url(), "other")
        assert await right.publish("subject", TEXT) == "SMTP 451"
        assert await wrong.publish("subject", TEXT) == "SMTP 535"
        nobody = mailbox.url()
    assert await SmtpMail(nobody, PASSWORD).publish("subject", TEXT) == "ConnectionRefusedError"


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
async def test_h22_a_server_elsewhere_gets_nothing_before_its_certificate_is_known(
    scheme: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a password nor a text of a visitor. 127.0.0.2 counts as another machine."""
    context = self_signed(tmp_path, "IP:127.0.0.2")
    tls = {"starts_tls": context} if scheme == "smtp" else {"tls": context}
    with Mailbox("127.0.0.2", **tls) as mailbox:
        mail = SmtpMail(mailbox.url(scheme), PASSWORD)
        assert await mail.publish("subject", TEXT) == "SSLCertVerificationError"
        assert mailbox.got == []
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
        assert await mail.publish("subject", TEXT) == ""
        assert len(mailbox.got) == 1


async def test_h22_a_server_elsewhere_without_tls_gets_nothing() -> None:
    with Mailbox("127.0.0.2") as mailbox:
        mail = SmtpMail(mailbox.url(), PASSWORD)
        assert await mail.publish("subject", TEXT) == "SMTPNotSupportedError"
        assert mailbox.got == []
