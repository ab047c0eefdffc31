"""Relations of numbers and dates that need no shared text."""
