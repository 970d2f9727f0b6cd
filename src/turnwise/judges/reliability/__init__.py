"""VERDICTS and labels -> how reliable a judge is, and rates and curves corrected for its errors."""

from turnwise.judges.reliability.category_pairs import confusion
from turnwise.judges.reliability.hazards import correct_curve
from turnwise.judges.reliability.judges import agreement
from turnwise.judges.reliability.rates import correct

__all__ = ["agreement", "confusion", "correct", "correct_curve"]
