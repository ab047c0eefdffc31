"""What a join by a program is worth: its result, and the probability that it is an accident."""
