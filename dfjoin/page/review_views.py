"""The page on which pairs of a learned join, or of one by similarity, are reviewed."""

from starlette.responses import Response

from dfjoin.page.visit import Visit

__all__ = ["answer_review", "show_review"]


def show_review(visit: Visit) -> Response:
    """Show."""
    raise NotImplementedError


def answer_review(visit: Visit) -> Response:
    """Answer."""
    raise NotImplementedError
