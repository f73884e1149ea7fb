"""Configs, `--set` changes and conversion logs that are damaged or hostile; the same ones for the same seed.

Four kinds of damaged configs: bytes of written ones, values and keys of tables, sizes that no machine has room for, and
paths that are no conversion log. Some are damaged so little that they are good configs.
"""

import copy
import re
import tomllib
from pathlib import Path

import numpy as np
import tomli_w
from hostile_values import CODE, DATES, HOSTILE, NUMBERS, PATHS, RAW, TUNING, WORDS
from whole_configs import TUNED, WHOLE

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "howto" / "command-line.md").read_text()


def furnish(folder):
    """Put a conversion log, and what is none, where the configs look for them."""
    lines = [f"1\t{60 * line}\t{7 * line}\tid\tproduct {arm}\n" for arm in range(10) for line in range(12 - arm)]
    (folder / "log.tsv").write_text("".join(lines))
    (folder / "conversions.tsv").write_text("".join(lines))
    np.save(folder / "objects.npy", np.array([{}, print], dtype=object), allow_pickle=True)
    (folder / "pickled").write_bytes(b"cposix\nsystem\n(S'touch executed'\ntR.")
    return folder


def written():
    """Configs as people write them, bytes."""
    page = max(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL), key=len).encode()
    return [page, *(path.read_bytes() for path in sorted((ROOT / "configs").glob("*.toml")))]


def damaged(seed, count):
    """Configs: what was done to each, and its bytes."""
    rng = np.random.default_rng(seed)
    texts = [*written(), *[text.encode() for text in WHOLE] * 8]
    for number in range(count):
        kind = number % 8
        if kind < 2:
            yield broken_bytes(rng, texts)
        elif kind < 6:
            config = tomllib.loads(WHOLE[rng.integers(len(WHOLE))])
            raw = {}
            done = [change(rng, config, raw) for _ in range(1 + (rng.random() < 0.2))]
            yield "; ".join(done), toml(config, raw)
        else:
            yield hostile(rng)


def broken_bytes(rng, texts):
    """A written config with its bytes or its lines damaged."""
    text = pick(rng, texts)
    how = pick(
        rng, ["cut", "flip", "flips", "lines", "lines", "lines", "glue", "byte", "mark", "ends", "digit", "twice"]
    )
    place = int(rng.integers(len(text)))
    if how == "cut":
        made = text[:place]
    elif how in ("flip", "flips"):
        made = bytearray(text)
        for at in rng.integers(len(text), size=1 if how == "flip" else 9):
            made[at] ^= 1 << int(rng.integers(8))
    elif how == "lines":
        made = _lines(rng, text)
    elif how == "glue":
        other = pick(rng, texts)
        made = text[:place] + other[int(rng.integers(len(other))) :]
    elif how == "byte":
        made = (
            text[:place]
            + pick(rng, [b"\xff", b"\0", b"\xc3", b"\xed\xa0\x80", b"\r", b"\x1b[2J", b"\xf4\x90\x80\x80"])
            + text[place:]
        )
    elif how == "mark":
        made = b"\xef\xbb\xbf" + text
    elif how == "ends":
        made = text.replace(b"\n", pick(rng, [b"\r\n", b"\r", b"\n\n", b"\x0b\n"]))
    elif how == "digit":
        digits = [match.start() for match in re.finditer(rb"[0-9]", text)]
        made = bytearray(text)
        made[pick(rng, digits)] = pick(rng, b"0123456789.-e_")
    else:
        made = text + pick(rng, [b"", b"\n"]) + text
    return f"bytes, {how}", bytes(made)


def _lines(rng, text):
    lines = text.split(b"\n")
    i, j = (int(place) for place in rng.integers(len(lines), size=2))
    how = int(rng.integers(4))
    if how == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif how == 1:
        del lines[i]
    elif how == 2:
        lines.insert(j, lines[i])
    else:
        rng.shuffle(lines)
    return b"\n".join(lines)


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def anything(rng, depth=0):
    """A TOML value."""
    kind = int(rng.integers(10 if depth < 3 else 6))
    if kind < 3:
        return pick(rng, NUMBERS)
    if kind < 4:
        return pick(rng, [True, False])
    if kind < 5:
        return pick(rng, WORDS)
    if kind < 6:
        return pick(rng, DATES)
    if kind < 7:
        return [pick(rng, NUMBERS) for _ in range(int(rng.integers(5)))]
    if kind < 8:
        return [anything(rng, depth + 1) for _ in range(int(rng.integers(4)))]
    if kind < 9:
        return {pick(rng, WORDS[:28]): anything(rng, depth + 1) for _ in range(int(rng.integers(3)))}
    return {"kind": pick(rng, WORDS), pick(rng, ["d", "p", "c", "sd", "alpha", "x"]): anything(rng, depth + 1)}


def places(tree, path=()):
    """The path of every value of a config."""
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield (*path, key)
        yield from places(value, (*path, key))


def change(rng, config, raw):
    """Damage one place of a config; numbers that only text can hold go to `raw`, by the string that stands for them."""
    paths = list(places(config))
    if not paths:
        config["simulation"] = anything(rng)
        return "an empty config filled"
    path = pick(rng, paths)
    *above, last = path
    holder = config
    for part in above:
        holder = holder[part]
    how = pick(rng, ["replace"] * 6 + ["raw", "remove", "rename", "add", "wrap", "swap", "again", "as table"])
    if how == "replace":
        holder[last] = anything(rng)
    elif how == "raw":
        mark = f"raw {len(raw)}"
        raw[mark] = pick(rng, RAW)
        holder[last] = mark
    elif how == "remove":
        del holder[last]
    elif how == "rename" and isinstance(holder, dict):
        holder[pick(rng, [str(last)[:-1], f"{last}s", str(last).upper(), *WORDS])] = holder.pop(last)
    elif how == "add" and isinstance(holder, dict):
        holder[pick(rng, [*WORDS, "kind", "penalties", "eta", "merit", "base"])] = anything(rng)
    elif how == "wrap":
        holder[last] = [holder[last]] * int(rng.integers(1, 3))
    elif how == "as table":
        holder[last] = {pick(rng, ["kind", "a", "scale", "random"]): holder[last]}
    elif how == "swap":
        other = config
        *others, end = pick(rng, paths)
        for part in others:
            other = other[part]
        holder[last], other[end] = copy.deepcopy(other[end]), copy.deepcopy(holder[last])
    elif isinstance(holder, list):
        holder.extend(copy.deepcopy([holder[last]]) * int(rng.integers(1, 4)))
    return f"{how} {'.'.join(map(str, path))}"


def hostile(rng):
    """A config that asks for what no machine has room or time for."""
    config = tomllib.loads(WHOLE[rng.integers(len(WHOLE))])
    dotted = pick(rng, list(HOSTILE))
    section, _, name = dotted.partition(".")
    value = copy.deepcopy(pick(rng, HOSTILE[dotted]))
    if name:
        config[section][name] = value
    else:
        config[section] = value
        config["problem"]["fractions"] = 0.1
    if rng.random() < 0.3:  # conversion logs that are none
        config["problem"]["means"] = {"conversions": pick(rng, PATHS)}
    return f"hostile {dotted}", toml(config, {})


def small(**changed):
    """A good config but for what is at some dotted keys."""
    config = tomllib.loads(TUNED)
    del config["tuning"]
    for dotted, value in changed.items():
        section, _, name = dotted.partition(".")
        config = {**config, section: {**config[section], name: value} if name else value}
    return config


def toml(config, raw):
    """A config as TOML, bytes; whole numbers beyond Python's limit of digits in base 16."""
    text = tomli_w.dumps(config)
    for mark, number in raw.items():
        text = text.replace(f'"{mark}"', number)
    return text.encode()


def changes(seed, count):
    """Configs, and lists of `--set` changes of each."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        text = pick(rng, WHOLE)
        keys = [".".join(map(str, path)) for path in places(tomllib.loads(text)) if isinstance(path[-1], str)]
        yield text, [_change(rng, keys) for _ in range(int(rng.integers(1, 3)))]


def _change(rng, keys):
    key = pick(rng, keys)
    for _ in range(pick(rng, [0, 0, 0, 1, 2])):
        how, parts = int(rng.integers(7)), key.split(".")
        at = int(rng.integers(len(parts)))
        if how == 0:
            parts[at] = pick(
                rng, ["", " ", "-1", "0", "99", "1" * 5000, "٣", "²", "é", "kind", "__class__", CODE, "a\nb", "[0]"]
            )
        elif how == 1:
            parts.insert(at, pick(rng, ["", "0", "policies", "kind", "x"]))
        elif how == 2:
            parts += pick(rng, [["a"] * 40, ["0"], ["kind"], [""], ["scale"]])
        elif how == 3:
            del parts[at]
        key = ".".join(parts)
    value = anything(rng)
    text = pick(
        rng,
        [
            toml({"v": value}, {}).decode().partition("=")[2].strip() if not isinstance(value, dict) else "{ a = 1 }",
            pick(rng, WORDS),
            pick(rng, RAW),
            "1\nb = 2",
            "1\n[value2]\nx = 3",
            "[[",
            "{",
            "1 # one",
            str(int(rng.integers(1, 50))),
            *("0.2", "0.1", "1", "2", "0", "3.0", "1e-3", "7"),
        ],
    )
    return key + pick(rng, ["=", "=", "=", "=", "=", " = ", "", "=="]) + text


def tunings(seed, count):
    """Configs whose table [tuning] is damaged, and what was done to each."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        config = tomllib.loads(TUNED)
        table, raw = config["tuning"], {}
        if rng.random() < 0.5:
            name = pick(rng, list(TUNING))
            table[name] = copy.deepcopy(pick(rng, TUNING[name]))
            done = name
        else:
            done = change(rng, table, raw)
        yield done, toml(config, raw)


def logs(seed, count):
    """Conversion logs, bytes, most of them damaged."""
    rng = np.random.default_rng(seed)
    titles = ["a", "b", "é\u2028", "a b", "-1", CODE]
    for _ in range(count):
        columns = pick(rng, [5, 23])
        lines = [_line(rng, titles, columns) for _ in range(int(rng.integers(1, 30)))]
        text = "\n".join(lines).encode() + pick(rng, [b"", b"\n"])
        if rng.random() < 0.7:
            text = broken_bytes(rng, [text, text[:40] or b"\t", b"1\t5\t7\tid\ta\n" * 9])[1]
        yield text


def _line(rng, titles, columns):
    sale = pick(rng, ["0", "1", "1", "1", "1"])
    numbers = [pick(rng, ["-1", "0", "60", "604800", "9" * 18, "7", "7", "7"]) for _ in range(2)]
    if rng.random() < 0.02:
        numbers[0] = pick(rng, ["", "1e5", "9" * 19, "9" * 5000, "-2", "nan", "0x1", CODE])
    if columns == 5:
        return "\t".join([sale, *numbers, "id", pick(rng, titles)])
    front = [sale, "12.5", numbers[0], "1598925284", numbers[1], *["x"] * 15]
    return "\t".join([*front, pick(rng, titles), "partner", "user"])
