"""What people write on the command line."""

import pytest

from fairtrial.bench import options
from fairtrial.bench.spec import BenchSpec, ClientOptions, LoadOptions, PromptOptions, stages_of
from fairtrial.schema.bench import GoodputLimits
from fairtrial.schema.client_vocab import ArrivalProcess, Transport
from fairtrial.schema.errors import UsageError
from fairtrial.schema.vocab import LoadKind


@pytest.mark.parametrize(
    ("text", "expected"), [("32", (32,)), ("1,8,32", (1, 8, 32)), (" 4 , 2 ", (4, 2)), ("65536", (65536,))]
)
def test_concurrencies(text, expected):
    assert options.concurrencies(text) == expected


@pytest.mark.parametrize("text", ["", "0", "-1", "1,,2", "1.5", "x", "1,1", "65537", "²", "1 2"])
def test_no_concurrencies(text):
    with pytest.raises(UsageError) as error:
        options.concurrencies(text)
    assert error.value.where == "--concurrency"


def test_rates():
    assert options.rates("1,2.5, 500") == (1.0, 2.5, 500.0)
    assert options.rates("0.001,100000") == (0.001, 100_000.0)


def test_traffic_of_more_than_a_week_is_refused():
    # A week has 604,800 seconds: so many requests at one a second are the most.
    for rate, requests, ramp_ns in ((1.0, 604_801, 0), (0.001, 605, 0), (1.0, 604_000, 801 * 10**9)):
        load = LoadOptions(rates=(5.0, rate), requests=requests, ramp_ns=ramp_ns)
        with pytest.raises(
            UsageError, match=f"{requests} requests at {rate:g} a second take more than a week"
        ):
            BenchSpec(url="http://x", load=load).check()
    BenchSpec(url="http://x", load=LoadOptions(rates=(1.0,), requests=604_800)).check()
    with pytest.raises(UsageError, match="ramp of more than a week"):
        BenchSpec(url="http://x", load=LoadOptions(ramp_ns=604_801 * 10**9, concurrencies=(2,))).check()


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "nan", "inf", "x", "2,2", "1e9", "1;2", "1e-300", "0.0009", "100001"]
)
def test_no_rates(text):
    with pytest.raises(UsageError) as error:
        options.rates(text)
    assert error.value.where == "--rate"


def test_goodput_limits():
    assert options.goodput_limits("ttft:500ms,tpot:40ms,e2e:10s") == GoodputLimits(
        ttft_ns=500_000_000, tpot_ns=40_000_000, e2e_ns=10_000_000_000
    )
    assert options.goodput_limits(None) is None


def test_a_goodput_limit_without_a_unit_shows_one_with_it():
    with pytest.raises(UsageError) as error:
        options.goodput_limits("e2e:2s,ttft:500")
    assert "ttft:500ms" in error.value.line()
    assert "\n" not in error.value.line()


@pytest.mark.parametrize(
    "text", ["", "ttft", "ttft:", "ttft:x", "itl:5ms", "ttft:1s,ttft:2s", "ttft:0ms", "ttft:-1s", "TTFT:1s"]
)
def test_no_goodput_limits(text):
    with pytest.raises(UsageError) as error:
        options.goodput_limits(text)
    assert error.value.where == "--goodput"


@pytest.mark.parametrize(
    ("text", "ns"),
    [("10s", 10**10), ("10", 10**10), ("250 ms", 250 * 10**6), ("2 min", 120 * 10**9), ("0.5", 5 * 10**8)],
)
def test_spans(text, ns):
    assert options.span_ns(text, "--ramp") == ns


@pytest.mark.parametrize("text", ["0", "0s", "-1s", "soon", "", "1e3", "nan"])
def test_no_spans(text):
    with pytest.raises(UsageError, match=r"duration|above 0"):
        options.span_ns(text, "--ramp")


def test_processes():
    assert options.process_count("auto") is None
    assert options.process_count("3") == 3
    for text in ("0", "65", "-1", "many", "1.0", ""):
        with pytest.raises(UsageError):
            options.process_count(text)


def test_a_token_comes_from_its_variable_and_is_never_shown():
    assert options.token_from(None, {}) is None
    assert options.token_from("T", {"T": "sk-abcdefgh"}) == "sk-abcdefgh"
    for value in ("", "sk secret", "sk-secret\n", "sécret"):
        with pytest.raises(UsageError) as error:
            options.token_from("T", {"T": value})
        assert error.value.where == "T"
        assert value == "" or value.strip() not in error.value.line()


def test_two_kinds_of_load_exclude_each_other():
    options.exclusive(("--concurrency", "1"), ("--rate", None))
    with pytest.raises(UsageError, match="--concurrency and --rate"):
        options.exclusive(("--concurrency", "1"), ("--rate", "2"))


def test_hints_of_plans_become_options():
    assert options.as_options("client_processes = 2, fewer requests in flight").startswith("--processes 2,")
    assert options.as_options("concurrency above 64") == "--max-in-flight above 64"
    assert options.as_options("name the variable that holds the right one (token_env)").endswith(
        "(--token-env NAME)"
    )


@pytest.mark.parametrize(("concurrency", "warmup"), [(1, 3), (3, 3), (8, 8), (32, 32), (256, 32)])
def test_warm_ups_are_as_many_as_are_in_flight_within_3_and_32(concurrency, warmup):
    (stage,) = stages_of(LoadOptions(concurrencies=(concurrency,)))
    assert (stage.load, stage.concurrency, stage.warmup) == (LoadKind.CLOSED_LOOP, concurrency, warmup)


def test_warm_ups_of_an_open_loop_are_those_of_a_second():
    stages = stages_of(LoadOptions(rates=(0.5, 7.2, 100.0), max_in_flight=20))
    assert [stage.warmup for stage in stages] == [3, 8, 20]
    assert {stage.concurrency for stage in stages} == {20}
    assert [stage.rate for stage in stages] == [0.5, 7.2, 100.0]
    assert [stage.stage for stage in stages] == [1, 2, 3]


def test_a_declared_warm_up_counts_even_if_it_is_none():
    assert stages_of(LoadOptions(warmup=0))[0].warmup == 0


def test_gamma_arrivals_without_burstiness_are_poisson():
    (stage,) = stages_of(LoadOptions(rates=(1.0,), arrivals=ArrivalProcess.GAMMA))
    assert stage.burstiness == 1.0
    (stage,) = stages_of(LoadOptions(rates=(1.0,), arrivals=ArrivalProcess.POISSON))
    assert stage.burstiness is None


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ({"load": LoadOptions(requests=0)}, "--requests"),
        ({"load": LoadOptions(rates=(1.0,), burstiness=2.0)}, "--burstiness"),
        (
            {"load": LoadOptions(rates=(1.0,), arrivals=ArrivalProcess.GAMMA, burstiness=float("nan"))},
            "--burstiness",
        ),
        ({"load": LoadOptions(spin=True)}, "--spin"),
        # 10 a second grow over 20 s: 100 are due until then.
        ({"load": LoadOptions(rates=(10.0,), requests=100, ramp_ns=20 * 10**9)}, "--ramp"),
        ({"load": LoadOptions(concurrencies=(1,), ramp_ns=10**9)}, "--ramp"),
        ({"load": LoadOptions(concurrencies=(1, 64), requests=63, ramp_ns=10**9)}, "--ramp"),
        ({"load": LoadOptions(max_in_flight=0)}, "--max-in-flight"),
        ({"prompts": PromptOptions(input_tokens=0)}, "--input-tokens"),
        ({"prompts": PromptOptions(output_tokens=0)}, "--output-tokens"),
        ({"prompts": PromptOptions(input_tokens=8, shared_prefix_tokens=8)}, "--shared-prefix-tokens"),
        ({"prompts": PromptOptions(seed=-1)}, "--seed"),
        ({"client": ClientOptions(proxy="http://p:1", transport=Transport.OWN)}, "--proxy"),
        ({"client": ClientOptions(proxy="http://user:pw@p:1")}, "p"),
    ],
)
def test_what_does_not_fit_is_said_with_its_option(part, where):
    with pytest.raises(UsageError) as error:
        BenchSpec(url="http://127.0.0.1:1", **part).check()
    assert error.value.where == where
    assert "pw" not in error.value.line()


def test_ramps_that_come_to_their_end_fit():
    BenchSpec(url="x", load=LoadOptions(rates=(10.0,), requests=101, ramp_ns=20 * 10**9)).check()
    load = LoadOptions(concurrencies=(1, 64), requests=64, ramp_ns=10**9)
    BenchSpec(url="x", load=load).check()
    assert [stage.ramp_ns for stage in stages_of(load)] == [0, 10**9]


def test_a_proxy_takes_the_other_client():
    assert ClientOptions().chosen_transport is Transport.OWN
    assert ClientOptions(proxy="http://p:1").chosen_transport is Transport.AIOHTTP


def test_a_token_is_in_no_representation():
    assert "sk-" not in repr(BenchSpec(url="http://x", client=ClientOptions(token="sk-abcdefgh")))
