"""Import lines for code that was written for other projects.

A class from ASTRA-RL's, AISteer360's or NeMo Agent Toolkit's own pages runs unchanged once its import line names
`rollwise.compat.astra`, `rollwise.compat.aisteer` or `rollwise.compat.nat`.
"""

from rollwise.compat import aisteer, astra, nat

__all__ = ["aisteer", "astra", "nat"]
