"""Records that hold messages: a chat is cut into turns, one for each answer of the target."""
