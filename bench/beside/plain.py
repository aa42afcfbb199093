"""The application that is measured: one agent, no tools."""

from turnlog import Agent, create_app

app = create_app([Agent("assistant", prompt="You help.")])
