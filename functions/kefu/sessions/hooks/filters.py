"""Passes an answer through the filter of a site's hook, which may fail, hang or return nonsense."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kefu.sessions.hooks.calls import Calls, Function, HookFailed

FILTER_SECONDS = 0.5
"""Seconds for a call of a filter. A filter delays the answer at most once: a filter that fails is
not used any more for this answer.
"""


class GuardedFilter:
    """The filter of one hook for one text of an answer.

    If a filter fails, the rest of the model's text is sent unchanged. The rest begins after as many
    characters as were sent, which is exact for a filter that has not changed the length.
    """

    def __init__(
        self,
        calls: Calls,
        create: Callable[[float], Awaitable[object]],
        on_fault: Callable[[str], None],
        *,
        needed: bool,
    ) -> None:
        """`create` returns the site's filter within so many seconds. Raises HookFailed.

        `needed`: whether the text may not be removed completely.
        """
        self._calls = calls
        self._create = create
        self._on_fault = on_fault
        self._needed = needed
        self._filter: object = None
        self._is_new = True
        self._is_off = False
        self._given = ""
        self._sent = 0

    async def feed(self, text: str) -> str:
        """The text to send after the next piece."""
        if self._is_off or not text:
            return text
        self._given += text
        return await self._through("feed", text)

    async def close(self) -> str:
        """The text that was held back, at the end of the answer."""
        if self._is_off or self._filter is None:
            return ""
        rest = await self._through("close")
        if self._needed and not self._sent and self._given.strip():
            return self._fail("left nothing of the answer")
        return rest

    async def _through(self, method: str, *args: object) -> str:
        try:
            if self._is_new:
                self._is_new = False
                self._filter = await self._create(FILTER_SECONDS)
                if self._filter is None:
                    self._is_off = True
                    return self._given
            function: Function = getattr(self._filter, method)
            shown = await self._calls.call(function, args, FILTER_SECONDS)
        except AttributeError:
            return self._fail(f"returned no filter with {method}")
        except HookFailed as failure:
            return self._fail(f"({method}) {failure}")
        except BaseException:  # cancelled: the filter may still be running in its thread
            self._is_off = True
            raise
        if not isinstance(shown, str):
            return self._fail(f"({method}) returned {type(shown).__name__}, not str")
        self._sent += len(shown)
        return shown

    def _fail(self, reason: str) -> str:
        self._is_off = True
        self._on_fault(reason)
        return self._given[self._sent :]
