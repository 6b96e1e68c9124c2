"""The only home of FastAPI, and the place where it is first imported.

Importing FastAPI declares the models of the OpenAPI document, and pydantic builds a validator for
each of them: a third of FastAPI's import time, for a document that few ever ask for. Deferred,
they are built when it is.
"""

import pydantic

_deferring = pydantic.ConfigDict(defer_build=True)
pydantic.BaseModel.model_config.update(_deferring)
try:
    import fastapi.openapi.models  # noqa: F401 - imported to be declared here
finally:
    pydantic.BaseModel.model_config.pop("defer_build")
