"""OpenAI's API: our agents as models, for programs that speak nothing else."""
