"""Tables of RoPE as operands."""

Rope = tuple[int, str] | None  # the width of the tables, and the style of pairs


def rope_operands(rope: Rope) -> dict[str, str]:
    """The names and types of the tables, if there are any."""
    return dict.fromkeys(("cos", "sin"), f"tensor<?x{rope[0]}xf32>") if rope else {}


def rope_clause(operands: dict[str, str]) -> str:
    """What an op takes them by."""
    return f"rope(%cos, %sin : {operands['cos']}, {operands['sin']})" if operands else ""


def rope_attribute(rope: Rope) -> str:
    return f"rope_style = #kvq.rope_style<{rope[1]}>" if rope else ""
