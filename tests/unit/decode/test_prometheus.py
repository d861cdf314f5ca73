import pytest

from fairtrial.decode.prometheus import (
    Exposition,
    Reading,
    ScrapeFault,
    Unreadable,
    counter_sum,
    first_sum,
    increase,
    parse,
)

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def page(*lines):
    return parse("".join(line + "\n" for line in lines).encode(), "text/plain; version=0.0.4")


def tokens(**series):
    return page("# TYPE t_total counter", *(f't_total{{m="{m}"}} {value}' for m, value in series.items()))


def test_values_by_the_name_on_the_wire():
    read = page("# HELP a Help.", "# TYPE a counter", 'a{x="1",y="2"} 3', 'a{y="3",x="1"} 4.5 1700000000000', "",
                "# TYPE b_total counter", "b_total 1e3", "c -2")  # fmt: skip
    assert isinstance(read, Exposition)
    assert read.samples == {
        "a": {frozenset({("x", "1"), ("y", "2")}): 3.0, frozenset({("x", "1"), ("y", "3")}): 4.5},
        "b_total": {frozenset(): 1000.0},
        "c": {frozenset(): -2.0},
    }
    assert counter_sum(read, "a") == Reading(7.5, None)
    assert counter_sum(read, "a_total") == Reading(None, ScrapeFault.METRIC_ABSENT)


def test_pages_that_share_their_series_keep_their_own_values():
    lines = (
        "# TYPE h histogram",
        'h_bucket{le="1",m="a"} %d',
        'h_sum{m="a"} %d 17',
        'h_bucket{m="b",le="1"} %d',
    )
    for values in ((1, 2, 3), (30, 20, 10)):
        a, total, b = values
        assert page(
            *lines[:1], *(line % value for line, value in zip(lines[1:], values, strict=True))
        ) == Exposition(
            {
                "h_bucket": {
                    frozenset({("le", "1"), ("m", "a")}): float(a),
                    frozenset({("le", "1"), ("m", "b")}): float(b),
                },
                "h_sum": {frozenset({("m", "a")}): float(total)},
            }
        )


@pytest.mark.parametrize("value", [r"a\"b", r"a\\", r"a\nb", "a}b{", "a # b", "a,b=c", "\u2028"])
def test_label_values_of_every_kind(value):
    assert counter_sum(page(f'm{{l="{value}"}} 1'), "m") == Reading(1.0, None)


@pytest.mark.parametrize("lines", [
    ["m"], ["m 1 2 3"], ["m x"], ["m 1_0"], ["m 0x10"], ["m \u0661"], ['m{a="1} 2'], ['m{a="1"}'], ["1m 2"],
    ['m{a="1",a="2"} 3'], ['m{a="1"} 1 # {t="x"} 0.5'], ['m 1 # {t="x"} 0.5'],
    ['m{a="1",b="2"} 1', 'm{b="2",a="1"} 1'], ["m 1", "m 2"], ["m 1\r"], ["m\x001 1"],
    ["Inf"], ["NaN"], ["m2.5"], ["m.5 3"], ["m2.5\t3"],
])  # fmt: skip
def test_what_is_no_page_is_a_parse_error(lines):
    read = page(*lines)
    assert isinstance(read, Unreadable)
    assert read.reason is ScrapeFault.PARSE_ERROR
    assert counter_sum(read, "m") == Reading(None, ScrapeFault.PARSE_ERROR)


def test_a_page_without_a_last_line_end_or_not_utf_8_is_a_parse_error():
    for data in (b"m 12", b"", b'm{a="\xff"} 1\n'):
        assert isinstance(parse(data), Unreadable)


def test_openmetrics_needs_its_end_and_may_have_exemplars():
    text = b'# TYPE h histogram\nh_bucket{le="+Inf"} 5 # {t="x"} 0.07 1.5\nh_count 5\nh_sum 1.5\n'
    assert isinstance(parse(text, OPENMETRICS), Unreadable)
    for kind in (OPENMETRICS, ""):
        assert counter_sum(parse(text + b"# EOF\n", kind), "h_count") == Reading(5.0, None)
    assert isinstance(parse(text + b"# EOF\nm 1\n", OPENMETRICS), Unreadable)
    assert isinstance(parse(text + b"# EOF\n", "text/plain"), Unreadable)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e999", "9" * 400])
def test_what_is_not_finite_has_no_value(value):
    bad = page(f'm{{a="1"}} {value}', 'm{a="2"} 1', "other 3")
    assert counter_sum(bad, "m") == Reading(None, ScrapeFault.NON_FINITE)
    assert counter_sum(bad, "other") == Reading(3.0, None)
    assert increase(page('m{a="1"} 1', 'm{a="2"} 1'), bad, "m").reason is ScrapeFault.NON_FINITE
    opposite = page('m{a="1"} +Inf', 'm{a="2"} -Inf')
    assert counter_sum(opposite, "m") == Reading(None, ScrapeFault.NON_FINITE)


def test_the_first_name_that_has_samples():
    read = page("old 1", "new NaN")
    assert first_sum(read, ["none", "old"]) == (Reading(1.0, None), "old")
    assert first_sum(read, ["new", "old"]) == (Reading(None, ScrapeFault.NON_FINITE), None)
    assert first_sum(read, ["none"]) == (Reading(None, ScrapeFault.METRIC_ABSENT), None)


def test_an_increase_over_all_label_sets():
    assert increase(tokens(a=100, b=1), tokens(a=350, b=3), "t_total") == Reading(252.0, None)
    assert increase(tokens(a=5), tokens(a=5), "t_total") == Reading(0.0, None)


BAD = parse(b"cut")


@pytest.mark.parametrize(("before", "after", "reason"), [
    (BAD, None, ScrapeFault.PARSE_ERROR),
    (tokens(a="NaN"), BAD, ScrapeFault.PARSE_ERROR),
    (None, tokens(a="NaN"), ScrapeFault.NON_FINITE),
    (None, tokens(a=99999), ScrapeFault.BASELINE_MISSING),
    (page("x 1"), tokens(a=1), ScrapeFault.BASELINE_MISSING),
    (tokens(a=1), page("x 1"), ScrapeFault.METRIC_ABSENT),
    (page("x 1"), page("x 1"), ScrapeFault.METRIC_ABSENT),
    (tokens(a=1), None, ScrapeFault.NO_DATA),
    (tokens(a=100), tokens(b=150), ScrapeFault.LABEL_SET_CHANGED),
    (tokens(a=100), tokens(a=100, b=150), ScrapeFault.LABEL_SET_CHANGED),
    (tokens(a=100, b=9), tokens(a=100), ScrapeFault.LABEL_SET_CHANGED),
    (tokens(a=900), tokens(a=120), ScrapeFault.COUNTER_RESET),
    (tokens(a=100, b=100), tokens(a=500, b=99), ScrapeFault.COUNTER_RESET),
])  # fmt: skip
def test_why_there_is_no_increase(before, after, reason):
    assert increase(before, after, "t_total") == Reading(None, reason)


def test_a_restart_is_seen_even_if_the_counter_grew():
    before, after = page("t 10", "process_start_time_seconds 5"), page("t 90", "process_start_time_seconds 6")
    assert increase(before, after, "t") == Reading(None, ScrapeFault.PROCESS_RESTARTED)
    assert increase(before, page("t 90", "process_start_time_seconds 5"), "t") == Reading(80.0, None)
    assert (
        increase(before, page("t 9", "process_start_time_seconds 6"), "t").reason is ScrapeFault.COUNTER_RESET
    )


def test_grouped_labels_may_come_and_go_but_no_series_may_fall():
    def by(*series):
        return page(*(f't{{m="{m}",r="{r}"}} {value}' for m, r, value in series))

    before = by(("a", "stop", 5))
    assert increase(before, by(("a", "stop", 5), ("a", "length", 2)), "t", ["m"]) == Reading(2.0, None)
    assert increase(before, by(("b", "stop", 5)), "t", ["m"]).reason is ScrapeFault.LABEL_SET_CHANGED
    hidden = by(("a", "stop", 4), ("a", "length", 90))
    assert increase(before, hidden, "t", ["m"]).reason is ScrapeFault.COUNTER_RESET
    assert increase(before, by(("a", "length", 4)), "t", ["m"]).reason is ScrapeFault.COUNTER_RESET
