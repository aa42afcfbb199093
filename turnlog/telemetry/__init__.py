"""What operators see: log lines, numbers and spans. Never what people say, unless asked for."""
