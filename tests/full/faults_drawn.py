"""Draws one-line faults at random in the package's function bodies, for faults.py: operators, constants, indices."""

import ast
import io
import random
import tokenize
from itertools import pairwise

PACKAGE = "jaxbandit"
SWAPS = {ast.Add: "+-", ast.Sub: "-+", ast.Mult: "*/", ast.Div: "/*", ast.And: ("and", "or"), ast.Or: ("or", "and")}
SWAPS |= {ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">")}
SWAPS |= {ast.Eq: ("==", "!="), ast.NotEq: ("!=", "==")}
ALWAYS = ("policies/opse.py", "/ plays + radius", "/ plays + radius * 1.02")  # fault 0: the upper radius of opse


def within(nodes):
    return {inner for node in nodes if node for inner in ast.walk(node)}


def left_alone(node):
    """Texts of errors, types, defaults, and keywords that change no result."""
    if isinstance(node, ast.FunctionDef):
        return [node.args, node.returns, *node.decorator_list]
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    alone = isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr)
    return [node] if alone or getattr(node, "arg", None) in ("strict", "stacklevel") else []


def operators(node):
    """The operators of an expression or statement: `[(left, right, operator)]`."""
    if isinstance(node, ast.BinOp) and not any(isinstance(s, ast.JoinedStr) for s in (node.left, node.right)):
        return [(node.left, node.right, node.op)]
    if isinstance(node, ast.AugAssign):
        return [(node.target, node.value, node.op)]
    if isinstance(node, ast.Compare):
        sides = pairwise([node.left, *node.comparators])
        return [(*pair, operator) for pair, operator in zip(sides, node.ops, strict=True)]
    return [(*pair, node.op) for pair in pairwise(node.values)] if isinstance(node, ast.BoolOp) else []


def changes(text):
    """The places in function bodies that can be changed: for each `[(line, start, end, new text, kind)]`, one a way."""
    lines, tree = text.splitlines(), ast.parse(text)
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    nodes = list(ast.walk(tree))
    inside = within(s for f in nodes if isinstance(f, ast.FunctionDef) for s in f.body)
    inside -= within(part for node in nodes for part in left_alone(node))
    index = within(n.slice for n in nodes if isinstance(n, ast.Subscript))
    index |= within(n.value for n in nodes if isinstance(n, ast.keyword) and n.arg == "axis")

    def ends(node):  # in characters: syntax trees count bytes
        places = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
        return [(line, len(lines[line - 1].encode()[:column].decode())) for line, column in places]

    for node in (node for node in nodes if node in inside):
        for left, right, operator in operators(node):
            old, new = SWAPS.get(type(operator), ("none", ""))
            for token in tokens:
                if ends(left)[1] <= token.start < ends(right)[0] and token.string in (old, old + "="):
                    kind = "arithmetic" if isinstance(operator, ast.operator) else "comparison"
                    yield [(*token.start, token.end[1], new + token.string[len(old) :], kind)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield [(*ends(node)[0], ends(node.operand)[0][1], "", "comparison")]
        for bound in (node.lower, node.upper) if isinstance(node, ast.Slice) else ():
            if isinstance(bound, ast.Name | ast.Attribute | ast.Call):
                line, end = ends(bound)[1]
                yield [(line, end, end, more, "index") for more in (" + 1", " - 1")]
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            value, kind = node.value, "index" if node in index else "constant"
            if isinstance(value, bool):
                news = [not value]
            elif isinstance(value, float):
                news = [float(f"{value * 1.02:.12g}") if value else 1.0]
            elif kind == "index":
                news = [value + 1, value - 1]
            else:
                news = [{0: 1, 1: 0}.get(value, value + 1)]
            yield [(*ends(node)[0], ends(node)[1][1], repr(new), kind) for new in news]


def fault_of(root, name, line, new, kind):
    text = (root / name).read_text()
    inside = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.ClassDef | ast.FunctionDef)]
    inside = [n.name for n in inside if n.lineno <= line <= n.end_lineno]
    kinds = (tokenize.NAME, tokenize.NUMBER, tokenize.OP)
    tokens = [t for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.start[0] == line and t.type in kinds]
    key = " ".join(t.string for t in tokens if t.string not in "()[]{},:")
    fault = {"file": name, "line": line, "old": text.splitlines()[line - 1], "new": new}
    return {**fault, "kind": kind, "function": ".".join(inside), "key": key}


def draw(root, count, seed):
    """Faults drawn at random: a file by its number of places, at most 2 faults of one, then a place, then a change."""
    paths = sorted((root / PACKAGE).rglob("*.py"))
    paths = [p for p in paths if p.name != "__init__.py" and not ("papers" in p.parts and "claims" in p.name)]
    texts = {path.relative_to(root).as_posix(): path.read_text() for path in paths}
    places = {name: list(changes(text)) for name, text in texts.items()}
    rng, taken, name = random.Random(seed), {name: set() for name in texts}, f"{PACKAGE}/{ALWAYS[0]}"
    line = next(i for i, text in enumerate(texts[name].splitlines()) if ALWAYS[1] in text)
    made = [fault_of(root, name, line + 1, texts[name].splitlines()[line].replace(*ALWAYS[1:]), "constant")]
    while len(made) <= count:
        some = [name for name in texts if places[name] and len(taken[name]) < 2]
        name = rng.choices(some, [len(places[name]) for name in some])[0]
        line, start, end, new, kind = rng.choice(rng.choice(places[name]))
        if line not in taken[name]:
            taken[name].add(line)
            old = texts[name].splitlines()[line - 1]
            made.append(fault_of(root, name, line, old[:start] + new + old[end:], kind))
    return [{"number": number, **fault} for number, fault in enumerate(made)]
