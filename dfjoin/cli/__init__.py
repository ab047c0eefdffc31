"""The shell: each command is one call into the library."""
