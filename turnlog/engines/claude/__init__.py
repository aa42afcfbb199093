"""Claude through the Messages API: request, stream, errors."""
