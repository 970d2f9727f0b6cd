"""VERDICTS and labels -> how far to trust a judge, and what remains of a rate once its errors are taken out."""

from turnwise.judges.reliability.hazards import correct_curve
from turnwise.judges.reliability.judges import agreement
from turnwise.judges.reliability.rates import correct

__all__ = ["agreement", "correct", "correct_curve"]
