"""Bedrock's InvokeModel, as a client: the model's own stream inside of AWS frames."""
