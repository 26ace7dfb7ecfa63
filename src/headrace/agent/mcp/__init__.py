"""MCP servers as sources of tools (extra `mcp`): how to reach one, a session with it, its tools and results as ours.

What users need of it stands in `headrace.agent.mcp.server`: `MCPServer`.
"""
