"""The index on disk: manifests, segments and their components. FORMAT.md specifies every file."""
