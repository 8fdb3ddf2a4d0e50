"""Other people's tools: Hugging Face folders in and out, and data sets as files."""
