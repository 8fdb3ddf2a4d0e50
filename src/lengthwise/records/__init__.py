"""Run folders, records, intervals and verdicts. No torch: whatever is shown rebuilds from these files."""
