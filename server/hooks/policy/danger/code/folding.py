"""Python's texts that are put together in the program itself: `"r" + "m"`, `k = "rm"; run([k, …])`, `"".join([…])`."""

import ast
from collections import Counter
from typing import Final

_MAX_CHARS: Final = 10_000


class Folded(ast.NodeTransformer):
    """Names that are assigned once, sums and joins of what is known become what they stand for."""

    def __init__(self, tree: ast.AST) -> None:
        self._known: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=str()) | ast.List() as value):
                    self._known[name] = value
        stored = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        self._known = {name: value for name, value in self._known.items() if stored[name] == 1}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._known.get(node.id, node) if isinstance(node.ctx, ast.Load) else node

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
