"""The neighbourhood of a table as boxes and arrows: what is drawn, where, and what is not."""

import pandas as pd

from dfjoin._graph_picture import family_edges, picture_around, picture_of_all, picture_of_path


def edges(*rows):
    names = ["table", "column", "key_table", "key_column", "score"]
    return pd.DataFrame(rows, columns=names)


STAR = edges(
    ("orders", "customer", "customers", "id", 0.95),
    ("customers", "country", "countries", "code", 0.9),
    ("y/2023", "customer", "customers", "id", 0.8),
    ("y/2024", "customer", "customers", "id", 0.8),
    ("cities", "country", "countries", "code", 0.7),
)


def box_of(picture, table):
    (box,) = [box for box in picture.boxes if box.table == table]
    return box


def test_keys_are_at_the_right_and_what_refers_to_the_table_at_the_left():
    picture = picture_around(STAR, "customers", 1, {"y/2023": "y/2023", "y/2024": "y/2023"})
    assert {box.table: box.n_tables for box in picture.boxes} == {
        "customers": 1,
        "countries": 1,
        "orders": 1,
        "y/2023": 2,
    }
    center = box_of(picture, "customers")
    assert center.is_center and box_of(picture, "orders").x < center.x < box_of(picture, "countries").x
    assert sorted(arrow.label for arrow in picture.arrows) == ["country → code", "customer → id", "customer → id"]
    assert picture.tables == {"customers", "countries", "orders", "y/2023", "y/2024"} and picture.n_left_out == 0


def test_the_second_hop_goes_on_outwards():
    picture = picture_around(STAR, "orders", 2)
    assert picture.tables == {"orders", "customers", "countries", "y/2023", "y/2024"}
    xs = [box_of(picture, name).x for name in ("orders", "customers", "countries")]
    assert xs == sorted(set(xs))


def test_boxes_do_not_overlap_and_lie_in_the_picture():
    many = edges(*((f"t{i}", f"c{i}", "k", "id", 1 - i / 100) for i in range(30)), ("k", "up", "top", "id", 0.5))
    picture = picture_around(many, "k", 1)
    assert picture.n_left_out == 18 and len(picture.boxes) == 14
    assert {f"t{i}" for i in range(12)} < picture.tables, "the surest are drawn"
    for i, one in enumerate(picture.boxes):
        assert 0 <= one.x <= picture.width - one.width and 0 <= one.y <= picture.height - one.height
        for other in picture.boxes[:i]:
            assert abs(one.x - other.x) >= one.width or abs(one.y - other.y) >= one.height


def test_names_are_cut_so_that_their_end_stays():
    name = "data/" + "a" * 40 + "_2024.csv"
    box = picture_around(edges((name, "c", "k", "id", 1.0)), name, 1).boxes[0]
    assert len(box.title) == 28 and box.title.endswith("_2024.csv") and box.folder == "data"


def test_a_table_that_refers_to_nothing_is_alone():
    assert [box.table for box in picture_around(STAR, "nothing", 2).boxes] == ["nothing"]


def test_a_path_goes_from_the_left_to_the_right():
    joins = pd.DataFrame(
        {
            "left_table": ["a", "b"],
            "left_column": ["x", "y"],
            "right_table": ["b", "c"],
            "right_column": ["u", "v"],
            "score": [1.0, 0.5],
        }
    )
    picture = picture_of_path(joins)
    assert [box.table for box in picture.boxes] == ["a", "b", "c"] and len({box.y for box in picture.boxes}) == 1
    assert [arrow.label for arrow in picture.arrows] == ["x = u", "y = v"]


def test_a_whole_graph_leads_to_the_right_and_its_parts_do_not_overlap():
    picture = picture_of_all(pd.concat([STAR, edges(("a", "x", "b", "x", 0.6), ("b", "y", "b", "z", 0.6))]))
    assert picture.tables == {*STAR["table"], *STAR["key_table"], "a", "b"} and len(picture.arrows) == 6
    for row in STAR.itertuples():
        assert box_of(picture, row.table).x < box_of(picture, row.key_table).x
    assert len({(box.x, box.y) for box in picture.boxes}) == len(picture.boxes) == 8
    assert max(box.y + box.height for box in picture.boxes) < picture.height


def test_a_circle_of_declared_keys_is_drawn():
    picture = picture_of_all(edges(("a", "x", "b", "x", 1.0), ("b", "y", "a", "y", 1.0)))
    assert len(picture.arrows) == 2 and len(picture.boxes) == 2


def test_tables_of_one_folder_are_one_box_only_where_a_column_is_too_full():
    few, many = (edges(*((f"f/t{i:02}", "c", "k", "id", 0.9) for i in range(n))) for n in (12, 13))
    assert [box.n_tables for box in picture_around(few, "k", 1).boxes] == [1] * 13
    picture = picture_around(many, "k", 1)
    assert sorted(box.n_tables for box in picture.boxes) == [1, 13] and len(picture.arrows) == 1


def test_families_are_one_node_with_the_best_of_their_edges():
    years = edges(
        ("y/2023", "customer", "customers", "id", 0.7),
        ("y/2024", "customer", "customers", "id", 0.9),
        ("y/2024", "last", "y/2023", "id", 0.9),
        ("y/odd", "customer", "customers", "id", 0.8),
        ("z/odd", "customer", "customers", "id", 0.8),
        ("a", "year", "y/2024", "id", 0.6),
    ).sort_values("score", ascending=False, kind="stable")
    found, members = family_edges(years, {"y/2023": "y/2023", "y/2024": "y/2023"})
    assert members == {
        "a": ["a"],
        "customers": ["customers"],
        "y/2023": ["y/2023", "y/2024"],
        "y/odd": ["y/odd"],
        "z/odd": ["z/odd"],
    }
    assert set(found[["table", "key_table", "score"]].itertuples(index=False, name=None)) == {
        ("y/2023", "customers", 0.9),
        ("y/odd", "customers", 0.8),
        ("z/odd", "customers", 0.8),
        ("a", "y/2023", 0.6),
    }
    picture = picture_of_all(found, members)
    assert box_of(picture, "y/2023").n_tables == 2 and picture.tables == {*years["table"], "customers"}


def test_tables_with_the_same_place_in_the_graph_are_one_node():
    found, members = family_edges(edges(*((f"f/{name}", "c", "k", "id", 0.9) for name in "pqr")), {})
    assert members == {"f/p": ["f/p", "f/q", "f/r"], "k": ["k"]} and len(found) == 1


def test_two_tables_have_one_arrow_between_them():
    picture = picture_of_all(edges(("a", "x", "k", "x", 0.6), ("a", "y", "k", "z", 0.9)))
    (arrow,) = picture.arrows
    assert arrow.label == "x and 1 more" and arrow.score == 0.9


def test_tables_stand_beside_their_keys_so_that_arrows_do_not_cross():
    picture = picture_of_all(
        edges(
            *(
                (a, "x", b, "x", 0.9)
                for a, b in (("a", "z"), ("b", "y"), ("c", "x"), ("l", "x"), ("l", "y"), ("l", "z"))
            )
        )
    )
    assert [box_of(picture, name).y for name in "cba"] == sorted(box_of(picture, name).y for name in "abc")
