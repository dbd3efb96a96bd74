"""Time expressions and what they mean: words -> intervals with precision.

The principle throughout: ambiguity and failure give no interval, never a wrong one, and an interval is never finer
than the words that gave it.
"""

from recollect.text.when.describe import describe
from recollect.text.when.find import find_times, question_time
from recollect.text.when.scan import TimeMention

__all__ = ["TimeMention", "describe", "find_times", "question_time"]
