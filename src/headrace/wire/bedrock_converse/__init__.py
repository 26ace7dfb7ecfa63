"""Bedrock's Converse, as a client."""
