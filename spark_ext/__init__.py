"""dfjoin on Spark: sessions that start anywhere, and builds that run as Spark tasks.

``spark_ext.build_index`` is `dfjoin.build_lake` with a session as its first argument;
``spark_ext.start_session`` finds Java and starts a local session as dfjoin does by itself.
"""

from __future__ import annotations

from typing import Any

__all__ = ["build_index", "start_session"]


def build_index(spark: Any, source: Any, index: Any, **options: Any) -> Any:
    """Build a lake index with a given Spark session.

    Parameters
    ----------
    spark : SparkSession
        Classic or Connect; its configuration is not changed.
    source, index
        As in `dfjoin.build_lake`.
    **options
        As in `dfjoin.build_lake`, but for `engine` and `spark`.

    Returns
    -------
    Lake

    See Also
    --------
    dfjoin.build_lake
    """
    from dfjoin.api import build_lake

    return build_lake(source, index, engine="spark", spark=spark, **options)


def start_session(**config: str) -> Any:
    """Return the active Spark session, or start a local one; see `spark_ext.session`."""
    from spark_ext.session import start_session as start

    return start(**config)
