"""The nodes of Python's syntax trees."""

import ast


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """As ast.walk, in its order, but faster."""
    nodes = [tree]
    for node in nodes:
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, ast.AST):
                nodes.append(value)
            elif isinstance(value, list):
                nodes += [item for item in value if isinstance(item, ast.AST)]
    return nodes
