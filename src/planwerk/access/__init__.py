"""Who may do what: actors, accounts, keys, sessions, roles, and the one `authorize` that every surface asks."""
