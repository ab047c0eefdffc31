"""How kernels are compiled, kept, and counted."""
