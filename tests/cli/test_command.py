"""One command of the shell: found by its name, with its help, and with ``--json``."""

import argparse

import pytest

from dfjoin.cli.command import add_command

HELP = """\
Count the words of a file.

  tool count a.txt          every word
  tool count a.txt --json   for programs"""


@pytest.fixture
def parser():
    parser = argparse.ArgumentParser(prog="tool")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_command(commands, "count", HELP, len, has_index=False).add_argument("path")
    add_command(commands, "open", "Open.", len)
    add_command(commands, "sort", "Sort.", sorted, has_index=False)
    return parser


def test_each_command_has_its_function_and_its_arguments(parser):
    count, sort = parser.parse_args(["count", "a.txt"]), parser.parse_args(["sort", "--json"])
    assert count.run is len and count.path == "a.txt" and count.json is False
    assert sort.run is sorted and sort.json is True and not hasattr(sort, "path") and not hasattr(sort, "index")
    assert parser.parse_args(["open", "lake.dfjoin"]).index == "lake.dfjoin"


def test_the_list_of_commands_shows_the_first_line_alone(parser):
    text = parser.format_help()
    assert "Count the words of a file." in text and "Sort." in text and "every word" not in text


def test_the_help_of_a_command_keeps_its_lines(parser, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit) as left:
        parser.parse_args(["count", "--help"])
    text = capsys.readouterr().out
    assert left.value.code == 0 and HELP in text and "write JSON, for programs" in text
