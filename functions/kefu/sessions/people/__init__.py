"""The way from a chat to a person: requests, their delivery, and chats that a person answers."""
