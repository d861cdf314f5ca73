"""Was each server watched: its metrics page kept before traffic and after each phase? Pure.

A page that was read afterwards proves nothing of what was before it: the order of the journal decides.
"""

from fairtrial.evidence.progress import LaunchState
from fairtrial.judge.cell_view import Answer, CellView, first, no_launch, with_more
from fairtrial.judge.counters import SPANS
from fairtrial.judge.normal import Normal, Place
from fairtrial.profiles.registry import PROFILES
from fairtrial.schema.facts import CountersRead, LaunchStopping, PhaseEnded, PhaseStarted
from fairtrial.schema.judgment import CounterDelta
from fairtrial.schema.vocab import CounterPoint, Phase

NO_PAGE = "the engine offers no metrics page"


def mapped(normal: Normal, arm: str) -> bool:
    """Whether the arm's profile maps counters of a metrics page."""
    profile = PROFILES.get(normal.plan.arm(arm).recipe.profile)
    return profile is not None and bool(profile.counters)


def offers_a_page(normal: Normal, arm: str) -> bool:
    """Whether there is anything to monitor: counters are mapped, and some launch of the arm had the page.

    A page that no launch of the whole trial ever had was not switched on: as if there were none. One that
    was there once and not another time is a gap.
    """
    if not mapped(normal, arm):
        return False
    read = [
        fact
        for launch in normal.progress.launches.values()
        if launch.starting.arm == arm
        for fact in launch.counters.values()
    ]
    return not read or any(fact.artifact is not None for fact in read)


def watched_arms(view: CellView, *, all_arms: bool) -> tuple[str, ...]:
    """The arms of a cell that monitoring is asked of: all of them, or those with a metrics page."""
    return tuple(arm for arm in view.arms if all_arms or offers_a_page(view.normal, arm))


def counters_read(view: CellView, *, all_arms: bool = True) -> Answer:
    """Every counter that the profile maps has an increase over every phase."""
    if absent := no_launch(view):
        return None, absent
    arms = watched_arms(view, all_arms=all_arms)
    if unmapped := _unmapped(view, arms):
        return None, unmapped
    problems = _without_increase(view, arms)
    if problems:
        return None, with_more(problems)
    return True, f"every counter was read over every phase{_of_some(view, arms)}"


def monitoring_enforced(view: CellView, *, all_arms: bool = True) -> Answer:
    """The server's page was sealed before the first traffic of its launch and again after each phase."""
    if absent := no_launch(view):
        return None, absent
    if view.normal.cut:
        return None, view.normal.cut
    arms = watched_arms(view, all_arms=all_arms)
    if unmapped := _unmapped(view, arms):
        return None, unmapped
    problems = [
        f"arm {place.arm}: {fault}"
        for place, launch in view.launches()
        if launch is not None and place.arm in arms
        for fault in (*_out_of_order(view, place, launch), *_fell(view, place))
    ]
    if problems:
        return first(problems, "")
    unread = _without_increase(view, arms)
    if unread:
        return None, with_more(unread)
    when = "before the first traffic and after each phase"
    return True, f"the metrics page was sealed {when}{_of_some(view, arms)}"


def _unmapped(view: CellView, arms: tuple[str, ...]) -> str:
    """Why nothing can be monitored; empty where something can."""
    if not arms:
        return NO_PAGE
    without = [arm for arm in arms if not mapped(view.normal, arm)]
    return f"arm {without[0]}: its profile maps no counters: {NO_PAGE}" if without else ""


def _of_some(view: CellView, arms: tuple[str, ...]) -> str:
    others = [arm for arm in view.arms if arm not in arms]
    return f" (arm {', '.join(others)}: {NO_PAGE})" if others else ""


def _without_increase(view: CellView, arms: tuple[str, ...]) -> list[str]:
    places = {place for place in view.places if place.arm in arms}
    found = [delta for delta in view.counters if _place(delta) in places]
    if {_place(delta) for delta in found} != places:
        return ["no counter was read"]
    return [
        f"arm {delta.arm}, {delta.counter.value}, {delta.phase.value}: {delta.reason}"
        for delta in found
        if delta.increase is None
    ]


def _place(delta: CounterDelta) -> Place:
    return Place(delta.workload, delta.repetition, delta.arm)


def _out_of_order(view: CellView, place: Place, launch: LaunchState) -> list[str]:
    """The readings that were not taken when they were due: after the phase before, before the next."""
    read: dict[CounterPoint, int] = {}
    begun: dict[Phase, int] = {}
    ended: dict[Phase, int] = {}
    over = len(view.normal.lines)
    for number, _, fact in view.timeline.traffic.get(launch.id, ()):
        match fact:
            case CountersRead(workload=place.workload, artifact=str()):
                read.setdefault(fact.point, number)
            case PhaseStarted(workload=place.workload):
                begun.setdefault(fact.phase, number)
            case PhaseEnded(workload=place.workload):
                ended[fact.phase] = number
            case PhaseStarted() | LaunchStopping() if Phase.MEASURED in begun:
                over = min(over, number)  # what comes after this workload, on the same server
            case _:
                pass
    points = (CounterPoint.READY, *(points[1] for points in SPANS.values()))
    after = (-1, *(ended.get(phase, begun.get(phase, -1)) for phase in Phase))
    before = (*(begun.get(phase, -1) for phase in Phase), over)
    return [
        f"no page was kept at {point.value}, when it was due"
        for point, low, high in zip(points, after, before, strict=True)
        if not low < read.get(point, -1) < high
    ]


def _fell(view: CellView, place: Place) -> list[str]:
    """Counters of this launch that went down: its server was another one meanwhile."""
    launch = view.normal.launches[place].id
    found = []
    highest: dict[str, int] = {}
    for delta in (delta for delta in view.counters if delta.launch == launch):
        for value in (delta.before, delta.after):
            if value is None:
                continue
            if value < highest.get(delta.counter.value, 0):
                found.append(f"{delta.counter.value} went down to {value} in {delta.phase.value}: a restart")
            highest[delta.counter.value] = value
    return found
