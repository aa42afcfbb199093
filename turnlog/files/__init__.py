"""What users attach: received, read in processes of their own, kept, and told to a model."""
