"""The ChatKit protocol, by the server of the package `openai-chatkit`, over our log."""
