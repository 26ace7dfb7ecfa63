"""The Responses protocol: one leg of a run as one response, and requests that go on with what was kept."""
