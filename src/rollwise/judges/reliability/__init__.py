"""VERDICTS and labels -> how reliable a judge is, and rates and curves corrected for its errors."""

from rollwise.judges.reliability.category_pairs import confusion
from rollwise.judges.reliability.hazards import correct_curve
from rollwise.judges.reliability.judges import agreement
from rollwise.judges.reliability.label_plan import plan_labels
from rollwise.judges.reliability.rates import correct

__all__ = ["agreement", "confusion", "correct", "correct_curve", "plan_labels"]
