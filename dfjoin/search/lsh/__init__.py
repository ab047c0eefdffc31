"""Containment search by MinHash signatures (LSH Ensemble)."""
