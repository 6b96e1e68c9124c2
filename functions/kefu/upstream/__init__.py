"""HTTP clients: for models, a deployed Kefu, public pages and providers of bot checks.

Only this package imports the HTTP client. `kefu.upstream` does not know key pools and retries,
which belong to `kefu.relay`.
"""
