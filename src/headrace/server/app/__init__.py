"""`headrace serve`: an agent's runs over HTTP."""
