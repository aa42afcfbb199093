"""Turns in the world.

`running_turns` has the turns that this process works on: read it first. A question comes through
`questions/` and is answered with what is in `answers/`; `follow_ups` has what comes after the end.
`following` is how people watch. Turns of other processes are waited for in `waiting/`. What a dead
process left is found by `healer` and ended by `recovery`. `people/` has what users do besides
asking.
"""
