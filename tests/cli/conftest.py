"""What the tests of commands share."""

import pytest

from dfjoin.cli.main import main


@pytest.fixture
def run(capsys):
    """Call the shell: ``run("info", index)`` returns the status and what is printed to either stream."""

    def call(*arguments):
        status = main([str(a) for a in arguments])
        return status, *capsys.readouterr()

    return call
