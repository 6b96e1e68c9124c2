"""What a store of chats keeps: the data, the ports of the stores, and the limit of its size."""
