"""Code that notes what a function does, put into that function in place.

A wrapper would stand in every traceback that passes through it. So the module's source is compiled
again with calls added, and the function gets the new code: its lines, columns and names stay, and
so do all tracebacks, whoever prints them.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from drapps.user_code import codes_in

Edit = Callable[[ast.FunctionDef], None]


def instrument(function: Any, edit: Edit, names: Mapping[str, Any]) -> bool:
    """Change a function's code in place.

    Args:
        function: of a module whose source is there.
        edit: changes its definition.
        names: what the edited code calls; they become globals of the module.

    Returns:
        Whether it was done; where it was not, nothing has changed.
    """
    if not isinstance(function, FunctionType):
        return False
    code = function.__code__
    try:
        tree = ast.parse(inspect.getsource(inspect.getmodule(function) or function))
    except (OSError, SyntaxError, TypeError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _line_of(node) == code.co_firstlineno:
            edit(node)
            break
    else:
        return False
    module = compile(ast.fix_missing_locations(tree), code.co_filename, "exec", dont_inherit=True)
    for inner in codes_in(module):
        same_place = inner.co_firstlineno == code.co_firstlineno
        if same_place and inner.co_name == code.co_name and inner.co_freevars == code.co_freevars:
            function.__globals__.update(names)
            function.__code__ = inner
            return True
    return False


def _line_of(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def around(begin: str, end: str, failed: str = "") -> Edit:
    """Calls `begin` with all arguments of the function first, and `end` with its first at the end.

    Where an exception leaves the function, `failed` is called with the first argument before `end`.
    """

    def edit(node: ast.FunctionDef) -> None:
        arguments = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        first = 1 if ast.get_docstring(node) is not None else 0
        place = node.body[first]
        handlers = []
        if failed:
            body: list[ast.stmt] = [_call(failed, arguments[:1]), ast.Raise()]
            handlers = [ast.ExceptHandler(ast.Name("BaseException", ast.Load()), None, body)]
        guarded = ast.Try(node.body[first:], handlers, [], [_call(end, arguments[:1])])
        added = [_call(begin, arguments), guarded]
        for statement in added:
            ast.copy_location(statement, place)
        for part in (*handlers, *guarded.finalbody):
            _locate(part, place)
        node.body[first:] = added

    return edit


def returned(name: str) -> Edit:
    """Passes what the function returns, behind its first argument, through another one.

    That one gives it on.
    """

    def edit(node: ast.FunctionDef) -> None:
        first = (*node.args.posonlyargs, *node.args.args)[0].arg
        for each in ast.walk(node):
            if isinstance(each, ast.Return) and each.value is not None:
                given = ast.Name(first, ast.Load())
                through = ast.Call(ast.Name(name, ast.Load()), [given, each.value], [])
                for part in (through, through.func, given):
                    ast.copy_location(part, each.value)
                each.value = through

    return edit


def _call(name: str, arguments: list[str]) -> ast.Expr:
    given: list[ast.expr] = [ast.Name(argument, ast.Load()) for argument in arguments]
    return ast.Expr(ast.Call(ast.Name(name, ast.Load()), given, []))


def _locate(node: ast.AST, place: ast.AST) -> None:
    for each in ast.walk(node):
        ast.copy_location(each, place)


class Values(ast.NodeTransformer):
    """Passes the values of some expressions through a function, which gives them on.

    Args:
        wanted: gives, for an expression, the name of the function that its value goes through and
            the expressions that it gets before; None for others.
    """

    def __init__(self, wanted: Callable[[ast.expr], tuple[str, list[ast.expr]] | None]) -> None:
        self._wanted = wanted

    def visit(self, node: ast.AST) -> ast.AST:
        """One node, and what is in it."""
        node = self.generic_visit(node)
        chosen = self._wanted(node) if isinstance(node, ast.expr) else None
        if chosen is None:
            return node
        name, before = chosen
        through = ast.Call(ast.Name(name, ast.Load()), [*before, node], [])  # type: ignore[list-item]
        for each in (through, through.func, *before):
            ast.copy_location(each, node)
        return through
