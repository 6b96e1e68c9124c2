"""A request to the model for a text that is no answer, such as a translation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from kefu.chat.admission import Admission
from kefu.chat.prompt import Sampling, request_body
from kefu.context.tokens import estimate_tokens_v1
from kefu.errors import GatewayTimeout
from kefu.messages import Message
from kefu.relay.call import Call, Clock
from kefu.relay.chunks import Completion
from kefu.relay.collected import Collected
from kefu.relay.relay import Relay


class SideCall:
    def __init__(
        self, id: str, messages: Sequence[Message], sampling: Sampling, clock: Clock
    ) -> None:
        """`id`: for a model that sends none."""
        completion = Completion(id, sampling.model, int(clock.now()), estimate_tokens_v1)
        self.call = Call(request_body(messages, sampling), completion, clock.monotonic())
        self.collected = Collected()
        """What the model has written so far."""
        self._prompt = sum(estimate_tokens_v1(one.content) for one in messages)
        self._at_most = self._prompt + sampling.max_tokens

    async def complete(
        self, relay: Relay, admission: Admission, seconds: float, too_late: str
    ) -> None:
        """Collect the whole text. Its tokens are taken from the daily budget.

        Raises KefuError: after `seconds`, GatewayTimeout with the sentence `too_late`.
        """
        try:
            async with (
                asyncio.timeout(seconds),
                admission.budget(self._at_most, lambda: self.call.spent(self._prompt)),
            ):
                await relay.complete(self.call, self.collected.add)
        except TimeoutError:
            raise GatewayTimeout(too_late) from None
