"""A smallest request that the simulated Claude accepts."""

ASK = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 1000,
    "messages": [{"role": "user", "content": "Hello"}],
}
KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
