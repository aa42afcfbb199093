"""Turns in the world.

`running_turns` starts, resumes and ends turns: read it first. `live_turns` has those that run here.
A question comes through `questions/` and is answered with what is in `answers/`; `follow_ups` has
what comes after the end. `following` is how people watch. Turns of other processes are waited for
in `waiting/`. What a dead process left is found by `healer` and ended by `recovery`. `people/` has
what users do besides asking.
"""
