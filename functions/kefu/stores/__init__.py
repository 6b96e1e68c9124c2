"""Implements the store protocols of `kefu` in memory, SQLite, DynamoDB and log files.

Only this package imports sqlite3 and boto3. `stores` imports neither `web` nor `settings`.
"""
