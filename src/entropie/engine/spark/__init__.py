"""The driver for a Spark cluster: nothing but small statistics reaches the machine that asks.

`entropie.assess` comes here for a Spark DataFrame, or with `engine="spark"`; `connect` starts a session.
"""

from entropie.engine.spark.session import connect

__all__ = ["connect"]
