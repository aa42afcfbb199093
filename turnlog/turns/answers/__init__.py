"""What turns answer with: engines, the ids, pace and drafts of answers, and summaries."""
