"""The laboratory of recollect: data sets, evaluation, recorded replies, rehearsals, and the costs of making memory."""
