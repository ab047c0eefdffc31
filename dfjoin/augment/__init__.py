"""Feature augmentation: finding, joining, screening and selecting columns of a lake for a model."""
