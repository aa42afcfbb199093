"""The bytes of users' files: in a folder, or in an S3-compatible object storage."""
