"""The only home of FastAPI, and the place where it is first imported.

Importing FastAPI declares the models of the OpenAPI document, and pydantic builds a validator for
each of them: a third of FastAPI's import time, for a document that few ever ask for. Deferred,
they are built when it is.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

_rebuild = BaseModel.__dict__["model_rebuild"]


def _on_demand(model: type[BaseModel], /, **how: Any) -> bool | None:
    """Pydantic says how when it needs a model; FastAPI, which only declares some, does not."""
    return _rebuild.__func__(model, **how) if how else None


BaseModel.model_config.update(ConfigDict(defer_build=True))
BaseModel.model_rebuild = classmethod(_on_demand)  # type: ignore[assignment, method-assign]
try:
    import fastapi.openapi.models  # noqa: F401 - imported to be declared here
finally:
    BaseModel.model_config.pop("defer_build")
    BaseModel.model_rebuild = _rebuild  # type: ignore[method-assign]
