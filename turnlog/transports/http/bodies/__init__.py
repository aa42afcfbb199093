"""Bodies that are not JSON: uploads, parts of files, and progress while something is read."""
