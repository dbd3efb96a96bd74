"""The laboratory of recollect: data sets, evaluation, recorded replies, rehearsals, and what memory costs."""
