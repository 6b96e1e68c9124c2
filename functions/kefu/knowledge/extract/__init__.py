"""Reads pages out of files: the only package that imports parsers of HTML, PDF and Word."""
