"""Python's texts that are put together in the program itself: `"r" + "m"`, `k = "rm"; run([k, …])`, `"".join([…])`."""

import ast
from collections import Counter
from itertools import islice
from typing import Final

from server.policy.danger.code.tree import nodes_of

_MAX_CHARS: Final = 10_000
_MAX_ADDED: Final = 200_000
"""Characters, by all texts and lists that come in the place of their names."""
_NODE_CHARS: Final = 20
"""As what a node of a list counts."""


class Folded(ast.NodeTransformer):
    """Names that are assigned once, sums and joins of what is known become what they stand for.

    No list comes into itself, nor long texts and lists of lists without end: then the name stays.
    """

    def __init__(self, tree: ast.AST) -> None:
        self._known: dict[str, ast.expr] = {}
        self._open: set[int] = set()  # the lists that are being visited
        self._left = _MAX_ADDED
        nodes = nodes_of(tree)
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str()) | ast.List() as value):
                    self._known[name] = value
        stored = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
        self._known = {name: value for name, value in self._known.items() if stored[name] == 1}

    @property
    def is_whole(self) -> bool:
        """Nothing was too long to be put in its place."""
        return self._left > 0

    def visit_Name(self, node: ast.Name) -> ast.AST:
        known = self._known.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return known if known is not None and self._takes(known) else node

    def visit_List(self, node: ast.List) -> ast.AST:
        self._open.add(id(node))
        self.generic_visit(node)
        self._open.discard(id(node))
        return node

    def _takes(self, known: ast.expr) -> bool:
        if self._left <= 0:
            return False
        if isinstance(known, ast.Constant):
            self._left -= len(str(known.value))
            return self._left > 0
        nodes = list(islice(ast.walk(known), self._left // _NODE_CHARS + 1))
        self._left -= len(nodes) * _NODE_CHARS
        return self._left > 0 and self._open.isdisjoint(map(id, nodes))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.BinOp(left=ast.Constant(value=str(left)), op=ast.Add(), right=ast.Constant(value=str(right))) if (
                len(left) + len(right) < _MAX_CHARS
            ):
                return ast.copy_location(ast.Constant(left + right), node)
            case ast.BinOp(left=ast.List(elts=first), op=ast.Add(), right=ast.List(elts=second)):
                return ast.copy_location(ast.List([*first, *second], ast.Load()), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Constant(value=str(between)), attr="join"), args=[ast.List(elts=parts)]
            ):
                texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
                if len(texts) == len(parts):
                    return ast.copy_location(ast.Constant(between.join(texts)[:_MAX_CHARS]), node)
        return node
