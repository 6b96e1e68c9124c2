"""The HTTP protocol of `kefu serve`: uvicorn's, with limits for slow clients and long headers."""
