"""Read time expressions: words in, intervals with their precision out.

One principle holds everywhere: an ambiguous or unreadable expression gives no interval rather than a wrong one, and an
interval is never more precise than its words.
"""

from recollect.text.time_expressions.describe import describe_interval
from recollect.text.time_expressions.find import find_question_time, find_times
from recollect.text.time_expressions.scan import TimeMention

__all__ = ["TimeMention", "describe_interval", "find_question_time", "find_times"]
