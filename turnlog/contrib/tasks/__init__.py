"""The task list of the demo: its tools, its agent and where the tasks are kept."""
