"""The HTTP API: the FastAPI application, its routes, streaming, static files and the operator's
panel.

Only this package imports FastAPI. `kefu.web` imports no concrete store and no HTTP client.
"""
