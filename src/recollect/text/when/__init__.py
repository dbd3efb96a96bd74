"""Read time expressions: words in, intervals with their precision out.

One principle holds everywhere: an ambiguous or unreadable expression gives no interval rather than a wrong one, and an
interval is never more precise than its words.
"""

from recollect.text.when.describe import describe
from recollect.text.when.find import find_times, question_time
from recollect.text.when.scan import TimeMention

__all__ = ["TimeMention", "describe", "find_times", "question_time"]
