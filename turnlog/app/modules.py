"""Modules that people name in settings and on the command line: where they are, and what is not."""

import sys
from pathlib import Path
from types import ModuleType

from turnlog.tools.tool import Tool


def find_modules_here() -> None:
    """Modules beside turnlog.toml are found, also by the installed command."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def is_missing(module: str, error: BaseException) -> bool:
    """Whether it is this module that is not there, and not one that it imports."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    return name is not None and (module == name or module.startswith(f"{name}."))


def missing(module: str) -> str:
    """A sentence that names what is there instead."""
    folder = Path.cwd()
    there = sorted(file.name for file in folder.glob("*.py"))
    files = f"has: {', '.join(there)}" if there else "has no .py files: go to the one that has it"
    return f"There is no module {module!r}. The folder {str(folder)!r} {files}."


def lacks(module: ModuleType, name: str) -> str:
    """A sentence that names the tools that the module has instead."""
    there = [each for each, value in vars(module).items() if _are_tools(value)]
    tools = ", ".join(there) or "none: decorate a function with @tool, above create_app"
    return f"The module {module.__name__!r} has no {name!r}. Its tools are: {tools}."


def _are_tools(value: object) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(each, Tool) for each in value)
    return isinstance(value, Tool)
