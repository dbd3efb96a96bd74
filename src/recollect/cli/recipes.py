"""The command ``recollect recipes``: it lists the recipes, including those that cannot be used."""

from __future__ import annotations

from recollect.cli import options
from recollect.cli.output import flatten_line, format_table, print_json, print_line


def recipes(json: options.Json = False) -> None:
    """List the recipes for --recipe with their packages. For a recipe that cannot be used, show the reason."""
    from recollect.domain.codec import to_json
    from recollect.recipes import list_recipes

    found = list_recipes()
    if json:
        print_json([to_json(one) for one in found])
    else:
        rows = [(one.name, one.package, flatten_line(one.problem or "")) for one in found]
        print_line(format_table([("recipe", "package", "why it cannot be used"), *rows]))
