"""What single heads do: their removal, roles, and the circuits that they form."""
