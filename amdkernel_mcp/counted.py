"""Numbers of things in sentences."""


def counted(number: int, noun: str, plural: str = "", *, grouped: bool = False) -> str:
    """`1 case`, `2 cases`. plural: where it is not the noun with an s. grouped: `1,216` instead of `1216`."""
    return f"{number:{',' if grouped else ''}} {noun if number == 1 else plural or noun + 's'}"


def rounded(value: float, digits: int = 2) -> str:
    """So many digits, and never as a power of ten: `390`, `0.28`."""
    return f"{float(f'{value:.{digits}g}'):,.12g}"
