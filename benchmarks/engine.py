"""Time to first token of the reference engine: computed, restored from the device, restored from the host.

Usage: ``python benchmarks/engine.py [--model laptop] [--tokens 512 1024] [--repeats 5]``

Prints medians. Milliseconds depend on the machine and its load; the ratios are what to look at.
"""

import argparse
import statistics
import time
from collections.abc import Sequence

from fairtrial.engine import threads

# isort: split
import numpy as np

from fairtrial.engine.cache import CacheOptions, PrefixCache
from fairtrial.engine.counters import Counters
from fairtrial.engine.model import Model
from fairtrial.engine.prompt_run import PromptRun
from fairtrial.engine.snapshots import snapshot_policy
from fairtrial.profiles.geometry import split_pool
from fairtrial.profiles.reference_models import MODELS
from fairtrial.schema.vocab import HitSource

SEED = 1
DECODE_STEPS = 32


def first_token(
    model: Model, cache: PrefixCache, prompt: Sequence[int]
) -> tuple[float, PromptRun, np.ndarray]:
    start = time.perf_counter()
    run = PromptRun(model, prompt, 1 + DECODE_STEPS, cache, Counters())
    run.restore()
    while run.step():
        pass
    logits = model.decode([run.last_token], [run.state])[0]
    return 1e3 * (time.perf_counter() - start), run, logits


def measure(model: Model, tokens: int, repeats: int) -> dict[HitSource, float]:
    shape = model.shape
    pages = tokens // shape.page_tokens + 2
    pool = 8 * shape.row_bytes + 4 * pages * shape.page_bytes
    percent = max(1, 100 * 4 * shape.row_bytes // pool)
    geometry = split_pool(pool, percent, shape.row_bytes, shape.page_bytes)
    cache = PrefixCache(shape, geometry, CacheOptions(snapshot_policy("mid-end"), 4, 2 * pages), Counters())
    times: dict[HitSource, list[float]] = {source: [] for source in HitSource}
    source = np.random.default_rng(SEED)
    for _ in range(repeats):
        cache.reset()
        prompt = source.integers(0, shape.vocabulary, tokens + 1).tolist()
        outputs = []
        for expected in (HitSource.NONE, HitSource.DEVICE, HitSource.HOST):
            if expected is HitSource.HOST:
                cache.reset(host=False)
            spent, run, logits = first_token(model, cache, prompt)
            if run.restored.source is not expected:
                raise SystemExit(f"expected {expected}, the cache gave {run.restored.source}")
            times[expected].append(spent)
            outputs.append(logits)
        if not all(np.array_equal(outputs[0], other) for other in outputs[1:]):
            raise SystemExit("restored and computed logits differ")
    cache.close()
    return {key: statistics.median(values) for key, values in times.items() if values}


def decode_step(model: Model, batch: int) -> float:
    source = np.random.default_rng(SEED)
    runs = [
        PromptRun(model, source.integers(0, 999, 257).tolist(), 99, None, Counters()) for _ in range(batch)
    ]
    for run in runs:
        while run.step():
            pass
    times = []
    for _ in range(DECODE_STEPS):
        start = time.perf_counter()
        model.decode([1] * batch, [run.state for run in runs])
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=sorted(MODELS), default="laptop")
    parser.add_argument("--tokens", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096])
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    model = Model(MODELS[args.model], MODELS[args.model].seed)
    note = "" if threads.IN_TIME else " (numpy was imported first: BLAS threads are as they were)"
    print(f"model {args.model} {model.sha256[:12]}, median of {args.repeats}, milliseconds{note}")
    heads = ("prompt", "computed", "device", "host", "computed/device", "computed/host")
    print("{:>8} {:>10} {:>8} {:>8} {:>16} {:>14}".format(*heads))
    for tokens in args.tokens:
        got = measure(model, tokens, args.repeats)
        cold, device, host = (got[s] for s in (HitSource.NONE, HitSource.DEVICE, HitSource.HOST))
        ratios = f"{cold / device:>15.0f}x {cold / host:>13.0f}x"
        print(f"{tokens:>8} {cold:>10.1f} {device:>8.2f} {host:>8.2f} {ratios}")
    for batch in (1, 4):
        step = decode_step(model, batch)
        rate = 1e3 * batch / step
        print(f"decode step, batch {batch}, 257 tokens of context: {step:.2f} ms, {rate:.0f} tokens/s")


if __name__ == "__main__":
    main()
