"""The order in which arms run: declared, or balanced and randomised from a recorded seed."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise

from fairtrial.plan.reader import Table, kind
from fairtrial.plan.units import QuantityError, percent_share, write_percent
from fairtrial.schema.plan import Design
from fairtrial.schema.vocab import LaunchScope, OrderSource

DEFAULT_REPETITIONS = 6
LEAST_FOR_A_VERDICT = 3
"""Below it no requirement can have a verdict."""
_MOST_REPETITIONS = 1000
_CALIBRATION = "calibration"
_KEYS = (
    *("order", "repetitions", "seed", "alpha", "power", "assumed_noise", "looks"),
    *(_CALIBRATION, "accept_underpowered"),
)
_DEFAULTS = Design(order=("AB",), order_source=OrderSource.DECLARED, seed=0, launch_scope=LaunchScope.WINDOW)


def read_design(plan: Table, arms: tuple[str, ...], scope: LaunchScope, seed: int) -> Design:
    """Read ``[design]``; every fault becomes a problem.

    Args:
        plan: The whole plan.
        arms: Names of the arms, the baseline first.
        scope: How many workloads one launch serves.
        seed: The design's seed (see :func:`read_seed`).
    """
    table = _design(plan)
    table.only(*_KEYS)
    order, source = _order(table, arms, seed)
    accepted = table.optional_text("accept_underpowered")
    if accepted is None:
        _check_enough(table, order)
    return Design(
        order=order,
        order_source=source,
        seed=seed,
        launch_scope=scope,
        alpha=_alpha(table),
        power=_power(table),
        assumed_sd=_assumed_noise(table),
        looks=_looks(table, len(order)),
        accept_underpowered=accepted,
    )


def read_use_of_calibration(plan: Table) -> bool:
    """Whether a stored calibration of the host may be used; true unless the plan leaves it out."""
    return _design(plan).switch(_CALIBRATION, default=True)


def read_seed(plan: Table, default: int) -> int:
    """The seed of the order and, by default, of the prompts."""
    return _design(plan).integer("seed", default)


def balanced(arms: tuple[str, ...], repetitions: int, seed: int) -> tuple[str, ...]:
    """Balanced orders: in every block each arm stands once at each place.

    A block holds all rotations of a shuffled list of the arms, in shuffled sequence: for two arms
    AB and BA. Every second block has the list of the one before backwards: of more than two arms no
    single block has each of two arms before the other equally often. The shuffle sorts by sha256 of the
    seed, so that any program can recompute it.
    """
    orders: list[str] = []
    block, line = 0, ""
    while len(orders) < repetitions:
        line = line[::-1] if block % 2 else "".join(sorted(arms, key=lambda arm: _rank(seed, block, arm)))
        rotations = [line[i:] + line[:i] for i in range(len(line))]
        orders.extend(sorted(rotations, key=lambda one: _rank(seed, block, one)))
        block += 1
    return tuple(orders[:repetitions])


def is_balanced(order: tuple[str, ...]) -> bool:
    """Whether each arm stands equally often at each place, and before each other as often as after it."""
    if not order:
        return False
    ahead = Counter(pair for one in order for pair in combinations(one, 2))
    if any(ahead[pair] != ahead[pair[::-1]] for pair in ahead):
        return False
    places = (Counter(one[place] for one in order) for place in range(len(order[0])))
    return all(len(set(count.values())) == 1 and len(count) == len(order[0]) for count in places)


def wrong_looks(looks: Sequence[int], repetitions: int) -> list[str]:
    """What is wrong with declared looks; empty when nothing is, or none is declared."""
    found: list[str] = []
    if not looks:
        return found
    if any(later <= earlier for earlier, later in pairwise(looks)):
        found.append("must increase")
    if min(looks) < LEAST_FOR_A_VERDICT:
        found.append(f"a look takes at least {LEAST_FOR_A_VERDICT} repetitions, not {min(looks)}")
    if looks[-1] != repetitions:
        found.append(f"the last look must be at all {repetitions} repetitions, not at {looks[-1]}")
    return found


def _rank(seed: int, block: int, text: str) -> bytes:
    return hashlib.sha256(f"order/{seed}/{block}/{text}".encode()).digest()


def _design(plan: Table) -> Table:
    value = plan.values.get("design")
    return Table(plan.findings, (*plan.path, "design"), value if isinstance(value, dict) else {})


def _order(table: Table, arms: tuple[str, ...], seed: int) -> tuple[tuple[str, ...], OrderSource]:
    repetitions = None
    if "repetitions" in table:
        repetitions = table.integer("repetitions", DEFAULT_REPETITIONS, 1, _MOST_REPETITIONS)
    if "order" in table:
        declared = _declared(table, arms)
        if repetitions is not None and len(declared) != repetitions:
            table.wrong("repetitions", f"is {repetitions}, but order has {len(declared)}", "leave one out")
        return declared, OrderSource.DECLARED
    if repetitions is None:
        # Whole blocks only, of more than two arms pairs of them: an unfinished one would not be balanced.
        block = len(arms) if len(arms) == 2 else 2 * len(arms)
        repetitions = -(-DEFAULT_REPETITIONS // block) * block
    return balanced(arms, repetitions, seed), OrderSource.RANDOMISED


def _declared(table: Table, arms: tuple[str, ...]) -> tuple[str, ...]:
    order = table.texts("order")
    if order is None:
        return ("".join(arms),) * LEAST_FOR_A_VERDICT
    if len(order) > _MOST_REPETITIONS:
        table.wrong("order", f"has more than {_MOST_REPETITIONS} repetitions")
    for index, one in enumerate(order):
        if sorted(one) != sorted(arms):
            table.findings.problem(
                (*table.path, "order", str(index)),
                f"{kind(one)} is not a permutation of the arms {''.join(arms)}",
            )
    return order


def _alpha(table: Table) -> float:
    alpha = table.number("alpha", 0.05)
    if not 0 < alpha < 0.5:
        table.wrong("alpha", "must be above 0 and below 0.5")
        return 0.05
    return alpha


def _power(table: Table) -> float:
    power = _percent(table, "power", _DEFAULTS.power)
    if not 0.5 <= power < 1:
        table.wrong("power", "must be at least 50% and below 100%")
        return _DEFAULTS.power
    return power


def _assumed_noise(table: Table) -> float:
    noise = _percent(table, "assumed_noise", _DEFAULTS.assumed_sd)
    if noise <= 0:
        table.wrong("assumed_noise", "must be above 0%", "no server answers in exactly the same time twice")
        return _DEFAULTS.assumed_sd
    return noise


def _percent(table: Table, key: str, default: float) -> float:
    if key not in table:
        return default
    value = table.values[key]
    if not isinstance(value, str):
        table.wrong(
            key,
            f"must be text with a percent sign, not {kind(value)}",
            f'write it like "{write_percent(default)}"',
        )
        return default
    try:
        return percent_share(value)
    except QuantityError as error:
        table.wrong(key, str(error))
        return default


def _looks(table: Table, repetitions: int) -> tuple[int, ...]:
    """Repetitions after which the trial may stop: increasing, each enough for a verdict, the last is all."""
    if "looks" not in table:
        return ()
    value = table.values["looks"]
    looks = [] if not isinstance(value, list) else value
    whole = [one for one in looks if isinstance(one, int) and not isinstance(one, bool)]
    if not looks or len(whole) < len(looks):
        table.wrong(
            "looks", f"must be a list of whole numbers, not {kind(value)}", f"for example [6, {repetitions}]"
        )
        return ()
    wrong = wrong_looks(whole, repetitions)
    for message in wrong:
        table.wrong("looks", message)
    return () if wrong else tuple(whole)


def _check_enough(table: Table, order: tuple[str, ...]) -> None:
    """A design that can't decide needs a person's reason; a weak one a note."""
    count = len(order)
    key = "order" if "order" in table else "repetitions"
    if count < LEAST_FOR_A_VERDICT:
        table.wrong(
            key,
            f"{count} repetition{'' if count == 1 else 's'} can't decide: "
            f"a verdict needs at least {LEAST_FOR_A_VERDICT}",
            "add repetitions, or give accept_underpowered a reason",
        )
    elif all(len(set(one)) == len(one) == len(order[0]) for one in order) and not is_balanced(order):
        table.findings.note(
            (*table.path, key),
            "the order is not balanced: a steady drift of the host would favour one arm",
            "leave order and repetitions out for a balanced design",
        )
