"""The simulation behind docs/key-sharing.md (C14, C15): what the page claims, in short runs."""

from __future__ import annotations

import pytest

from benchmarks.pool import SCENARIOS, Outcome, Scenario, simulate

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def alone_and_shared(scenario: Scenario) -> tuple[Outcome, Outcome]:
    alone, shared = (
        simulate(scenario, instances=8, shared=shared, minutes=5) for shared in (False, True)
    )
    assert alone.chats == shared.chats > 100
    return alone, shared


def test_sharing_saves_calls_and_chats_when_keys_are_out_for_long() -> None:
    alone, shared = alone_and_shared(BY_NAME["four of six keys have spent their day"])
    assert shared.refused < alone.refused / 2
    assert shared.failed < alone.failed


def test_sharing_spreads_the_fault_of_one_address_to_all() -> None:
    alone, shared = alone_and_shared(BY_NAME["one address in four is refused everything"])
    assert shared.failed > 2 * alone.failed


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_only_what_is_shared_costs_units(scenario: Scenario) -> None:
    """A write for each refusal that reaches the store, half a read unit every two seconds."""
    alone, shared = alone_and_shared(scenario)
    assert (alone.reads, alone.writes) == (0, 0)
    assert shared.writes <= shared.refused
    assert 0 < shared.reads <= 0.5 * shared.chats + 4
