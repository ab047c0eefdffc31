"""An index at one version, and how it changes."""
