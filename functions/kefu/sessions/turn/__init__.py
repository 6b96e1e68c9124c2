"""One message of a stored chat: access to the chat, its history, its answer, and its records."""
