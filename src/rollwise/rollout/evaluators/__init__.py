"""Classes that roll out and measure, for `rollwise.rollout`. Begin with `base.py`."""
