"""What searches by distance share, whatever is compared: hits, evidence, pairs, explanations and joins.

The modes `embedding` (vectors of texts, points of columns of numbers) and `fuzzy` (spelling) say what is near.
"""
