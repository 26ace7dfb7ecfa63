"""The gateway: any client's protocol to any server's, and a broken stream made whole on the way."""
