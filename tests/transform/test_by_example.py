import pytest

from dfjoin.transform.compose.by_example import learn_from_examples


def first_result(programs, *row):
    return next((result for program in programs if (result := program.certain(*row)) is not None), None)


def test_several_programs_share_the_examples_where_one_cannot():
    rows = [("Lee, Ann",), ("Bob Ray",), ("Poe, Cy",), ("Dee Fox",)]
    programs = learn_from_examples(["x"], rows, ["Ann Lee!", "BOB RAY", "Cy Poe!", "DEE FOX"])
    results = {
        next(r for p in programs if (r := p.certain(text)) is not None) for text in ("Day, Jo", "Kay, Al", "Jo Day")
    }
    assert len(programs) == 2
    assert results == {"Jo Day!", "Al Kay!", "JO DAY"}


def test_other_rows_choose_between_programs_that_agree():
    rows, targets = [("Ann K Lee",), ("Bob J Ray",)], ["Lee", "Ray"]
    (program,) = learn_from_examples(["x"], rows, targets, inputs=[("Cy Poe",), ("Dee Fox",)])
    assert program.certain("Cy Poe") == "Poe"


@pytest.mark.parametrize(
    ("pairs", "others", "expected"),
    [
        ({"875-259": "none", "490-896": "none", "596-501 x0339": "x0339"}, ["144-038 x9062", "1-2"], ["x9062", "none"]),
        ({"Lee, Ann": "Ann", "Bob Ray": "Bob", "Poe, Cy": "Cy"}, ["Dee Fox", "Day, Jo"], ["Dee", "Jo"]),
        ({"": "N/A", "Foo": "F", "Abc": "A"}, ["Baz", ""], ["B", "N/A"]),
        ({"M": "0", "F": "1"}, ["F", "M"], ["1", "0"]),
    ],
)
def test_conditions_are_learned(pairs, others, expected):
    rows = [(text,) for text in pairs]
    programs = learn_from_examples(["x"], rows, list(pairs.values()), inputs=[(text,) for text in others])
    assert [first_result(programs, text) for text in others] == expected


def test_other_rows_tell_words_from_positions():
    rows, targets = [("size = 96 of 206",), ("size = 74 of 242",)], ["96", "74"]
    programs = learn_from_examples(["x"], rows, targets, inputs=[("size = 207 of 81",), ("size = 5 of 11",)])
    assert first_result(programs, "size = 1234 of 5") == "1234"


def test_an_example_of_two_columns_is_no_constant():
    programs = learn_from_examples(["a", "b"], [("susan", "chang")], ["susan chang"], inputs=[("aaron", "kim")])
    assert first_result(programs, "aaron", "kim") == "aaron kim"


def test_times_and_numbers_are_learned():
    rows = [("6 Oct 2143",), ("Mar 30 2002",)]
    programs = learn_from_examples(["x"], rows, ["Sunday", "Saturday"], inputs=[("01 Feb 1953",)])
    assert first_result(programs, "22 Apr 1953") == "Wednesday"
    programs = learn_from_examples(["x"], [("163",), ("88",)], ["160-169", "80-89"], inputs=[("6",)])
    assert first_result(programs, "6") == "0-9"


def test_examples_that_nothing_explains_give_no_programs():
    assert learn_from_examples(["x"], [("abc",)], ["1"]) == ()
    assert learn_from_examples(["x"], [], []) == ()
    assert learn_from_examples(["x"], [("a",)], [""]) == ()


@pytest.mark.parametrize(
    ("pairs", "others", "expected"),
    [
        ({"02:45:45": "2.7625 hours", "1:30:25": "1.5069 hours", "12:10:02": "12.1672 hours"}, "03:22:45", "3.3792 hours"),
        ({"90": "1:30", "45": "0:45", "605": "10:05"}, "725", "12:05"),
        ({"1.5": "1:30", "0.75": "0:45", "10.25": "10:15"}, "2.5", "2:30"),
        ({"1/4": "0.25", "200/4": "50", "9/100": "0.09"}, "1/2", "0.5"),
        ({"0.003": "3/1000", "0.125": "1/8", "4.5": "9/2"}, "0.25", "1/4"),
        ({"10B": "10 Bytes", "100 KB": "102400 Bytes", "1000MB": "1048576000 Bytes"}, "1b", "0.125 Bytes"),
        ({"2 km": "2000 m", "35 cm": "0.35 m", "1 mi": "1609.344 m"}, "5 ft", "1.524 m"),
        ({"one! two!!": "!, !!", "a!!! b!": "!!!, !"}, "x! y!! z!!!", "!, !!, !!!"),
        ({"a TEST, NOT b": "TEST, NOT", "One OMG": "OMG"}, "ONE, two, THREE", "ONE, THREE"),
        ({"1, 2, 3": "6", "10, 5": "15", "7": "7"}, "4, 4", "8"),
        ({"3, 9, 6": "6", "10, 20": "15", "7, 1": "4"}, "4, 8", "6"),
        ({"2.431": "2.4", "1.5857E+0": "1.6", "1234567890": "1234567890.0"}, "13.33e-11", "0.0"),
        ({"Louis XIV": "Louis 14", "Pius IX": "Pius 9"}, "Edward VII", "Edward 7"),
        ({"0-306-40615-2": "9780306406157", "1-56881-111-X": "9781568811116"}, "0-19-853453-1", "9780198534532"),
        ({"7992739871": "79927398713", "411111111111111": "4111111111111111"}, "123456781234567", "1234567812345670"),
        ({"2007": "common", "2008": "leap", "2009": "common"}, "2012", "leap"),
        ({"7": "odd", "8": "even", "10": "even"}, "13", "odd"),
        ({"12": "minor", "18": "adult", "9": "minor", "40": "adult"}, "21", "adult"),
    ],
)  # fmt: skip
def test_numbers_durations_lists_and_codes_are_computed(pairs, others, expected):
    rows = [(text,) for text in pairs]
    programs = learn_from_examples(["x"], rows, list(pairs.values()), inputs=[(others,)])
    assert first_result(programs, others) == expected


DATES = ["2021-12-26", "2017-11-12", "2019-01-08", "2022-09-29", "2020-02-10"]


@pytest.mark.parametrize(
    ("rows", "targets", "others", "expected"),
    [
        (DATES[:3], ["2021-12-31", "2017-11-30", "2019-01-31"], DATES[3:], ["2022-09-30", "2020-02-29"]),
        (DATES[:3], ["20 Dec 2021", "06 Nov 2017", "07 Jan 2019"], DATES[3:], ["26 Sep 2022", "10 Feb 2020"]),
        (DATES[:3], ["FY2022", "FY2018", "FY2019"], ["2022-09-29", "2020-10-01"], ["FY2022", "FY2021"]),
        (DATES[:2], ["44556", "43051"], DATES[3:4], ["44833"]),
        (["1640476800", "1510444800"], DATES[:2], ["1664409600"], DATES[3:4]),
        (["1928", "0055"], ["7:28 PM", "12:55 AM"], ["1012"], ["10:12 AM"]),
        (["4931", "195291", "88"], ["4.93E+03", "1.95E+05", "8.80E+01"], ["5"], ["5.00E+00"]),
        (["5'3\"", "4'7\"", "6'9\""], ["160", "140", "206"], ["5'6\""], ["168"]),
        (["344", "201", "70"], ["5h 44m", "3h 21m", "1h 10m"], ["100"], ["1h 40m"]),
        (["173", "207", "152"], ["5'8\"", "6'9\"", "4'11\""], ["168"], ["5'6\""]),
        (["10.0.0.255", "7.86.185.110"], ["167772415", "123124078"], ["1.2.3.4"], ["16909060"]),
        (["203.17.170.242", "7.86.185.110"], ["CB11AAF2", "0756B96E"], ["1.2.3.4"], ["01020304"]),
        (["1", "12", "23", "4"], ["1st", "12th", "23rd", "4th"], ["111"], ["111th"]),
        (["88", "1999"], ["LXXXVIII", "MCMXCIX"], ["2024"], ["MMXXIV"]),
        (
            ["the lord of the rings", "war and peace"],
            ["The Lord of the Rings", "War and Peace"],
            ["a of b"],
            ["A of B"],
        ),
        (["theLordOf", "aTale"], ["the_lord_of", "a_tale"], ["warAndPeace"], ["war_and_peace"]),
        (["a, b, c", "d, e"], ["c | b | a", "e | d"], ["x, y, z, w"], ["w | z | y | x"]),
        (["720", "650", "580"], ["high", "medium", "low"], ["701", "610", "599"], ["high", "medium", "low"]),
        (["thatensures", "thatwill", "thathave"], ["ensures", "will", "have"], ["knowthat"], ["know"]),
        (["one", "twelve", "forty-two"], ["1", "12", "42"], ["ninety"], ["90"]),
        (
            ["0.0635", "0.0116", "0.011777"],
            ["0.07", "0.02", "0.02"],
            ["0.0991", "0.9951", "0.0053"],
            ["0.1", "1", "0.01"],
        ),
    ],
)
def test_everyday_transformations_are_learned(rows, targets, others, expected):
    inputs = [(text,) for text in others]
    programs = learn_from_examples(["x"], [(text,) for text in rows], targets, inputs=inputs)
    assert [first_result(programs, text) for text in others] == expected


def test_a_result_on_which_other_programs_disagree_is_not_sure():
    names = ["Lee, Ann", "Ray, Bob", "Poe, Cy", "Fox, Dee", "Day, Jo, Jr."]
    examples = [("Eads, Al", "Al Eads"), ("Orr, Fay", "Fay Orr")]
    programs = learn_from_examples(
        ["x"], [(a,) for a, _ in examples], [b for _, b in examples], inputs=[(name,) for name in names]
    )
    found = programs[0].predict(names, level=0.0)["confidence"].tolist()
    assert min(found[:4]) > 0.85 and found[4] < min(found[:4])


def test_a_split_by_conditions_is_less_sure_than_one_program():
    pairs = {"875-259": "none", "490-896": "none", "596-501 x0339": "x0339"}
    split = learn_from_examples(["x"], [(text,) for text in pairs], list(pairs.values()), inputs=[("1-2",)])
    whole = learn_from_examples(["x"], [("596-501 x0339",), ("1-2 x7",)], ["x0339", "x7"], inputs=[("3-4 x5",)])
    sure = [max(one.predict(["144-038 x9062"], level=0.0)["confidence"]) for one in (split[-1], split[0], whole[0])]
    assert len(split) == 2 and len(whole) == 1
    assert max(sure[:2]) < sure[2] - 0.1


def test_what_is_unsure_of_its_own_examples_gives_these_and_no_others():
    fahrenheit, celsius = ["19", "100", "350"], ["7.22222", "37.7778", "176.667"]
    programs = learn_from_examples(["x"], [(text,) for text in fahrenheit], celsius, inputs=[("1",), ("50",)])
    assert len(programs) == 3
    given = [[made for one in programs if (made := one(text)) is not None] for text in [*fahrenheit, "1", "50"]]
    assert given == [[text] for text in celsius] + [[], []]


def test_a_result_is_surer_if_different_results_were_taught():
    sure = []
    for names in (["Ann Lee", "Bob Lee"], ["Ann Lee", "Bob Ray"]):
        targets = [name.split()[1] for name in names]
        (program,) = learn_from_examples(["x"], [(name,) for name in names], targets, inputs=[("Jo Day",)])
        sure.append(program.predict(["Jo Day"], level=0.0)["confidence"][0])
    assert sure[0] < sure[1] - 0.01


def test_a_list_of_the_examples_is_sure():
    (program,) = learn_from_examples(["x"], [("M",), ("F",)], ["0", "1"], inputs=[("F",), ("M",)])
    assert program.confidence is None and program("F") == "1"


@pytest.mark.parametrize(
    ("names", "rows", "targets"),
    [
        (["x"], [("5 min",), ("3 h",), ("2 days",), ("9 min",), ("4 h",), ("7 days",)],
         ["PT5M", "PT3H", "P2D", "PT9M", "PT4H", "P7D"]),
        (["name", "sex"], [("Anna", "F"), ("Bob", "M"), ("Eve", "F")], ["Ms Anna", "Mr Bob", "Ms Eve"]),
        (["x"], [("Ann Lee",), ("BOB RAY",), ("Cy Poe",), ("DEE FOX",)], ["Ann Lee!", "BOB RAY", "Cy Poe!", "DEE FOX"]),
    ],
)  # fmt: skip
def test_the_examples_themselves_are_never_left_out(names, rows, targets):
    programs = learn_from_examples(names, rows, targets)
    by_name = [{name: row[names.index(name)] for name in names} for row in rows]
    made = [next((text for p in programs if (text := p(*(row[c] for c in p.columns)))), None) for row in by_name]
    assert made == targets
