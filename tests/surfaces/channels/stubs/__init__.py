"""Services over real sockets, as strict as the real ones, written from their documentation and not from our client."""
