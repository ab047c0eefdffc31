from dfjoin.transform.compose.likeness import OutputLikeness, marks_beside


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


def test_a_negative_number_may_have_a_negative_result():
    likeness = OutputLikeness(["0.07", "0.02"])
    (new,) = marks_beside([("0.0635",), ("0.0116",)], [("-0.0453",)])
    assert likeness.penalty(["-0.05"], [new]) < likeness.penalty(["-0.05"])
    assert likeness.penalty(["0+05"], [new]) == likeness.penalty(["0+05"])
    assert marks_beside([("-1",)], [("-2.5",)]) == [set()]
