"""A join graph as GraphML."""

import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd

from dfjoin.containment.join_graph import write_graphml

SPACE = "{http://graphml.graphdrawing.org/xmlns}"


def test_graphml_holds_names_that_are_hard_to_write(tmp_path):
    edges = pd.DataFrame(
        {
            "table": ["a<&>"], "column": ['x"y'], "key_table": ["b\x00\n"], "key_column": ["é"], "score": [0.75],
            "relationship": ["n:1"], "containment": [1.0], "coverage": [0.5], "declared": [True],
        }
    )  # fmt: skip
    write_graphml(["a<&>", "b\x00\n", "c"], edges, tmp_path / "g.graphml")
    graph = ET.parse(tmp_path / "g.graphml").getroot().find(f"{SPACE}graph")
    assert [node.find(f"{SPACE}data").text for node in graph.iter(f"{SPACE}node")] == ["a<&>", "b\ufffd\n", "c"]
    (edge,) = graph.iter(f"{SPACE}edge")
    data = {one.get("key"): one.text for one in edge.iter(f"{SPACE}data")}
    assert (edge.get("source"), edge.get("target")) == ("t0", "t1")
    assert data["column"] == 'x"y' and data["score"] == "0.75"


def test_graphml_writes_what_is_not_known_as_xml_schema_does(tmp_path):
    row = {
        "column": "x",
        "key_column": "y",
        "score": 1.0,
        "relationship": "n:1",
        "containment": np.nan,
        "coverage": 0.5,
    }
    edges = pd.DataFrame([{"table": "a", "key_table": "a", **row, "declared": True}])
    write_graphml(["a"], edges, tmp_path / "g.graphml")
    assert '<data key="containment">NaN</data>' in (tmp_path / "g.graphml").read_text()
