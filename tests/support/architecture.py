"""Read source files and say where they break the rules of the house.

The rules stand in the tables at the top; the functions below only read syntax trees, so a rule is tried on a string
as well as on a file. Each exception to a rule is an entry of a table with its reason, and an entry that excuses
nothing is reported too.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "headrace"

# The rooms of each floor, from the ground up. A room imports only from lower floors.
FLOORS = (
    ("errors", "_json", "_sync"),
    ("messages",),
    ("wire", "tools"),
    ("providers", "io"),
    ("models", "decoding"),
    ("agent",),
    ("surfaces", "sessions", "durable", "inspect", "interop"),
    ("server",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# Which room may know which on its own floor.
NEIGHBOURS = {("durable", "sessions"), ("models", "decoding"), ("_json", "errors"), ("_sync", "errors")}

PURE = (
    "errors",
    "_json",
    "messages",
    "wire",
    "tools.schema",
    "providers",
    "io.retry",
    "decoding",
    "agent.loop",
    "agent.steps",
    "agent.gate",
    "agent.permission",
    "agent.output",
    "agent.context",
    "surfaces",
)
IMPURE_MODULES = {"anyio", "asyncio", "httpx2", "logging", "random", "socket", "sqlite3", "threading", "time"}

# What the extras bring: may be missing, so it is imported where it is used.
EXTRA_MODULES = {
    *("typer", "rich", "prompt_toolkit", "xllamacpp"),
    *("acp", "starlette", "uvicorn", "ag_ui", "psycopg", "dbos", "mcp", "botocore", "opentelemetry"),
    "genai_prices",
}
# What `import headrace` must not load (it needs msgspec alone), though every installation has it.
LATE_MODULES = {"pydantic", "pydantic_core", "griffe"}

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60

# Vendors, their products and their models. Words that are plain English too (together, command, nova) are left out.
VENDORS = {
    *("ai21", "alibaba", "anthropic", "aws", "azure", "baichuan", "baidu", "bedrock", "cerebras", "chatgpt", "claude", "codestral"),
    *("cohere", "dashscope", "databricks", "deepseek", "devstral", "doubao", "ernie", "fireworks", "gemini", "gemma", "glm", "google"),
    *("gpt", "grok", "groq", "huggingface", "hunyuan", "kimi", "litellm", "llama", "llamacpp", "lmstudio", "magistral", "minimax"),
    *("ministral", "mistral", "mixtral", "moonshot", "nvidia", "ollama", "openai", "openrouter", "perplexity", "qianfan", "qwen", "qwq"),
    *("sambanova", "sglang", "siliconflow", "smollm", "stepfun", "vertex", "vertexai", "vllm", "volcengine", "xai", "zai", "zhipu"),
}
# Names of protocols, which merely begin with a vendor's; the plain ones (gemini, ollama) could be either, so they are not here.
PROTOCOLS = {
    *("openai-chat", "openai-responses", "anthropic-messages", "gemini-interactions", "bedrock-converse", "bedrock-invoke", "cohere-v2"),
    *("openai_chat", "openai_responses", "anthropic_messages", "gemini_interactions", "bedrock_converse", "bedrock_invoke", "cohere_v2"),
}

# (rule, place) -> why it is right there. The place is `path` or `path:what`, as the finding gives it.
EXCUSES: dict[tuple[str, str], str] = {
    ("pure", "messages/chunk.py:threading"): "asks only which thread it is on: a shared buffer grows on one thread alone",
    ("function-length", "agent/agent.py:Agent.__init__"): "half of it is the list of what may be given, each by keyword",
}


@dataclass(frozen=True, order=True)
class Finding:
    """One place where a rule is broken.

    Attributes:
        place: the file below src/headrace, and what in it, without a line, so that an excuse outlives an edit.
        rule: the rule's name.
        line: where to look.
        detail: what is wrong.
    """

    place: str
    rule: str
    line: int
    detail: str

    def __str__(self) -> str:
        """Say it as a compiler would."""
        return f"src/headrace/{self.place.partition(':')[0]}:{self.line}: {self.rule}: {self.detail}   (place: {self.place!r})"


def check_source(text: str, path: str) -> list[Finding]:
    """Check one file; `path` is relative to src/headrace, with slashes."""
    tree = ast.parse(text)
    found = [*_shape(tree, text, path), *_names(tree, path)]
    for statement, function in _imports(tree):
        found += _one_import(statement, function, path)
    return sorted(found)


def check_tree(source: Path = SOURCE) -> list[Finding]:
    """Check every file below a folder."""
    found: list[Finding] = []
    for file in sorted(source.rglob("*.py")):
        found += check_source(file.read_text(encoding="utf-8"), file.relative_to(source).as_posix())
    return found


def without_excuses(found: list[Finding], excuses: dict[tuple[str, str], str]) -> list[str]:
    """Return what is left to complain about: findings that nothing excuses, and excuses that excuse nothing or say no reason."""
    left = [str(finding) for finding in found if (finding.rule, finding.place) not in excuses]
    used = {(finding.rule, finding.place) for finding in found}
    left += [f"the excuse {key} excuses nothing: remove it" for key in excuses if key not in used]
    left += [f"the excuse {key} gives no reason" for key, reason in excuses.items() if not reason.strip()]
    return left


def module_of(path: str) -> str:
    """Name a file's module below headrace: `wire/sse.py` is `wire.sse`, `wire/__init__.py` is `wire`, `__init__.py` is ``."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _shape(tree: ast.Module, text: str, path: str) -> list[Finding]:
    found = []
    if not ast.get_docstring(tree):
        found.append(Finding(path, "docstring", 1, "the module has no docstring"))
    lines = len(text.splitlines())
    if lines > MAX_FILE_LINES:
        found.append(Finding(path, "file-length", lines, f"{lines} lines, more than {MAX_FILE_LINES}: two ideas in one file?"))
    for name, function in _functions(tree):
        length = (function.end_lineno or function.lineno) - function.lineno + 1
        if length > MAX_FUNCTION_LINES:
            detail = f"{name} has {length} lines, more than {MAX_FUNCTION_LINES}"
            found.append(Finding(f"{path}:{name}", "function-length", function.lineno, detail))
    return found


def _functions(node: ast.AST, prefix: str = ""):
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)


def _imports(node: ast.AST, function: str = ""):
    """Yield each import statement with the name of the function it stands in, "" at the top."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, function
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _imports(child, child.name)
        elif isinstance(child, ast.If) and _is_type_checking(child.test):
            for statement in child.body:
                yield from _imports(ast.Module([statement], []), "")
            for statement in child.orelse:
                yield from _imports(ast.Module([statement], []), function)
        else:
            yield from _imports(child, function)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING")


def _imported(statement: ast.Import | ast.ImportFrom, path: str) -> list[str]:
    """Name the modules that a statement may import; for `from x import y` that is `x.y`, whatever y is."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    base = statement.module or ""
    if statement.level:
        folder = ["headrace", *path.split("/")[:-1]]
        base = ".".join([*folder[: len(folder) - statement.level + 1], *([base] if base else [])])
    return [f"{base}.{alias.name}" for alias in statement.names]


def _one_import(statement: ast.Import | ast.ImportFrom, function: str, path: str) -> list[Finding]:
    found = []
    module = module_of(path)
    is_pure = any(module == pure or module.startswith(f"{pure}.") for pure in PURE)
    for name in _imported(statement, path):
        top = name.partition(".")[0]
        place = f"{path}:{name}"
        if is_pure and top in IMPURE_MODULES:
            found.append(Finding(place, "pure", statement.lineno, f"{module} is pure and imports {top}"))
        if function and top not in EXTRA_MODULES | LATE_MODULES:
            found.append(Finding(place, "inner-import", statement.lineno, f"{name} is imported inside {function}; it is no extra"))
        if top == "headrace" and module and (wrong := _floor_error(module, name)):
            found.append(Finding(place, "floor", statement.lineno, wrong))
    return found


def _floor_error(module: str, name: str) -> str | None:
    here, there = module.partition(".")[0], [*name.split("."), ""][1]
    if here not in FLOOR:
        return f"{here} stands on no floor: give it one"
    if there not in FLOOR:
        return f"import {there or 'it'} from the module that defines it, not from headrace"
    if here == there or (here, there) in NEIGHBOURS or FLOOR[there] < FLOOR[here]:
        return None
    side = "a room on its own floor" if FLOOR[there] == FLOOR[here] else f"floor {FLOOR[there]}, above it"
    return f"{here} (floor {FLOOR[here]}) imports {there}, {side}"


def _names(tree: ast.Module, path: str) -> list[Finding]:
    """Find vendors and models in comparisons, `case` patterns and prefix tests; data and messages may name them."""
    if path.startswith("providers/"):
        return []
    found = []
    for node in ast.walk(tree):
        for text in _compared_strings(node):
            words = set(re.findall(r"[a-z]+[0-9]*", text.lower())) | set(re.findall(r"[a-z]+", text.lower()))
            if text not in PROTOCOLS and words & VENDORS:
                detail = f"{text!r} is compared; a quirk belongs into a Profile in providers/"
                found.append(Finding(f"{path}:{text}", "vendor-name", node.lineno, detail))
    return found


def _compared_strings(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Compare):
        compared = [node.left, *node.comparators]
    elif isinstance(node, ast.MatchValue):
        compared = [node.value]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"startswith", "endswith"}:
        compared = list(node.args)
    else:
        return []
    leaves: list[ast.expr] = []
    for value in compared:
        leaves += value.elts if isinstance(value, ast.Tuple | ast.List | ast.Set) else [value]
    return [
        leaf.value.decode("ascii", "replace") if isinstance(leaf.value, bytes) else leaf.value
        for leaf in leaves
        if isinstance(leaf, ast.Constant) and isinstance(leaf.value, str | bytes)
    ]
