"""Implements the store protocols of `kefu` in memory, SQLite, DynamoDB and log files.

Only this package imports sqlite3 and boto3. It imports neither the web layer nor the settings.
"""
