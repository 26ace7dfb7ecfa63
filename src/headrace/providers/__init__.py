"""The catalogue: each provider's address, key variable and profile, and how a model's id is resolved. Vendors are named only here."""
