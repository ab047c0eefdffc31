from dfjoin.transform.likeness import OutputLikeness


def test_alike_results_cost_nothing():
    likeness = OutputLikeness(["Ann Lee", "Bob Ray"])
    assert likeness.penalty([]) == 0
    assert likeness.penalty(["Cy Poe", "Dee Fox"]) == 0


def test_missing_strange_and_longer_results_cost_the_more_there_are():
    likeness = OutputLikeness(["Ann Lee", "Bob Ray"])
    for result in (None, "Cy (1)", "Cy Poe " * 9, "Cy"):
        one, two = likeness.penalty(["Dee Fox", result]), likeness.penalty([result, result])
        assert 0 < one < two
    assert likeness.penalty([None]) > likeness.penalty(["Cy"])
