"""What single heads do: their removal, roles, …"""
