"""Tests the answers of a service: the questions, their expectations, and the reports."""
