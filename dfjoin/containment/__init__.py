"""Set containment join: which sets hold all of another one, columns of a lake too, and the join graph made of them."""
