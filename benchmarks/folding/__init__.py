"""What a reader can still answer after a conversation was compacted again and again."""
