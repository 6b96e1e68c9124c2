"""The real service in front of a scripted upstream."""

from tests.fakes.fixtures import question, shared, staged

__all__ = ["question", "shared", "staged"]
