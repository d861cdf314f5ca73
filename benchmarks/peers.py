"""Other load generators, each described by its command line and by how its result is read.

One that isn't found is named and left out. They are looked for on the path and in the ``bin`` folder of
``--peers DIR``; tokenizer files that some of them need are ``DIR/tokenizer``, in a Hugging Face cache
``DIR/hf`` they are ``local/tokenizer``.
"""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from clients import WORDS, Client, Load, Report

MODEL = "paced-model"
CACHED = "local/tokenizer"
RESULT = "result.json"
RUST_CLIENT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_bench", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.run_argv(["sglang-bench", *sys.argv[2:]])
"""
"""SGLang's Rust client without the package around it, whose import needs torch."""
Argv = Callable[[str, Load, Path], list[str]]


def vllm(program: str, tokenizer: str) -> Argv:
    def argv(url: str, load: Load, folder: Path) -> list[str]:
        line = [program, "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions"]
        line += ["--base-url", url, "--model", MODEL, "--tokenizer", tokenizer, "--dataset-name", "random"]
        line += ["--random-input-len", str(WORDS), "--random-output-len", str(load.tokens), "--ignore-eos"]
        line += ["--num-prompts", str(load.requests), "--max-concurrency", str(load.concurrency)]
        line += ["--save-result", "--result-dir", str(folder), "--result-filename", RESULT, "--disable-tqdm"]
        return [*line, "--percentile-metrics", "ttft", "--metric-percentiles", "50,99"]

    return argv


def sglang(program: list[str], tokenizer: str) -> Argv:
    def argv(url: str, load: Load, folder: Path) -> list[str]:
        line = [*program, "--backend", "vllm-chat", "--base-url", url, "--model", MODEL]
        line += ["--tokenizer", tokenizer, "--dataset-name", "random-ids", "--random-input-len", str(WORDS)]
        line += [
            "--random-output-len",
            str(load.tokens),
            "--random-range-ratio",
            "1",
            "--warmup-requests",
            "0",
        ]
        line += ["--num-prompts", str(load.requests), "--max-concurrency", str(load.concurrency)]
        return [*line, "--disable-tqdm", "--output-file", str(folder / RESULT)]

    return argv


def read_bench(folder: Path) -> Report:
    """vLLM's and SGLang's result."""
    found = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    return Report(found["completed"], ttft_ms=(found["median_ttft_ms"], found["p99_ttft_ms"]))


def aiperf(program: str) -> Argv:
    def argv(url: str, load: Load, folder: Path) -> list[str]:
        line = [program, "profile", "--model", MODEL, "--url", url, "--endpoint-type", "chat", "--streaming"]
        line += ["--tokenizer", CACHED, "--concurrency", str(load.concurrency), "--ui", "none"]
        line += ["--request-count", str(load.requests), "--synthetic-input-tokens-mean", str(WORDS)]
        line += ["--synthetic-input-tokens-stddev", "0", "--output-tokens-mean", str(load.tokens)]
        return [*line, "--output-tokens-stddev", "0", "--artifact-dir", str(folder)]

    return argv


def read_aiperf(folder: Path) -> Report:
    """AIPerf's aggregate: its rows have other clocks."""
    found = json.loads((folder / "profile_export_aiperf.json").read_text(encoding="utf-8"))
    first = found["time_to_first_token"]
    return Report(round(found["request_count"]["avg"]), ttft_ms=(first["p50"], first["p99"]))


def guidellm(program: str, tokenizer: str) -> Argv:
    def argv(url: str, load: Load, folder: Path) -> list[str]:
        line = [program, "run", "--backend", f"kind=openai_http,target={url},model={MODEL}"]
        line += ["--profile", f"kind=concurrent,streams={load.concurrency}"]
        line += ["--constraint", f"kind=max_requests,count={load.requests}"]
        line += ["--tokenizer", f"kind=huggingface_auto,model={tokenizer}"]
        line += ["--data", f"kind=synthetic_text,prompt_tokens={WORDS},output_tokens={load.tokens}"]
        return [*line, "--output", f"kind=json,path={folder / RESULT}", "--disable-console"]

    return argv


def read_guidellm(folder: Path) -> Report:
    """GuideLLM's result."""
    found = json.loads((folder / RESULT).read_text(encoding="utf-8"))["benchmarks"][0]["metrics"]
    first = found["time_to_first_token_ms"]["successful"]
    percentiles = first["percentiles"]
    return Report(first["count"], ttft_ms=(percentiles["p50"], percentiles["p99"]))


def inference_perf(program: str, tokenizer: str) -> Argv:
    def argv(url: str, load: Load, folder: Path) -> list[str]:
        stage = {"num_requests": load.requests, "concurrency_level": load.concurrency}
        lengths = {"min": WORDS, "max": WORDS, "mean": WORDS, "std_dev": 0, "total_count": load.requests}
        outputs = lengths | {"min": load.tokens, "max": load.tokens, "mean": load.tokens}
        wish = {
            "load": {"type": "concurrent", "stages": [stage]},
            "api": {"type": "completion", "streaming": True},
            "server": {"type": "vllm", "model_name": MODEL, "base_url": url, "ignore_eos": True},
            "tokenizer": {"pretrained_model_name_or_path": tokenizer},
            "data": {"type": "random", "input_distribution": lengths, "output_distribution": outputs},
            "storage": {"local_storage": {"path": str(folder / "reports")}},
        }
        (folder / "wish.yml").write_text(json.dumps(wish), encoding="utf-8")
        return [program, "--config_file", str(folder / "wish.yml")]

    return argv


def read_inference_perf(folder: Path) -> Report:
    """The summary of inference-perf, in seconds."""
    summary = next((folder / "reports").rglob("summary_lifecycle_metrics.json"))
    found = json.loads(summary.read_text(encoding="utf-8"))["successes"]
    first = found["latency"]["time_to_first_token"]
    return Report(found["count"], ttft_ms=(1e3 * first["median"], 1e3 * first["p99"]))


def find(folder: Path | None) -> tuple[list[Client], list[str]]:
    """The peers that are there, and the names of those that aren't."""
    tokenizer = str((folder or Path()) / "tokenizer")
    known: dict[str, tuple[Callable[[str], Argv], Callable[[Path], Report]]] = {
        "vllm": (lambda program: vllm(program, tokenizer), read_bench),
        "aiperf": (aiperf, read_aiperf),
        "guidellm": (lambda program: guidellm(program, tokenizer), read_guidellm),
        "inference-perf": (lambda program: inference_perf(program, tokenizer), read_inference_perf),
    }
    found, missing = [], []
    for name, (argv, read) in known.items():
        program = _program(name, folder)
        if program is None:
            missing.append(name)
        else:
            found.append(_peer(name, argv(program), read, folder))
    library = next(folder.rglob("_bench.*.so"), None) if folder else None
    if library is None:
        missing.append("sglang-rust")
    else:
        program = [sys.executable, "-c", RUST_CLIENT, str(library)]
        found.append(_peer("sglang-rust", sglang([*program], tokenizer), read_bench, folder))
    package = next(folder.rglob("site-packages/sglang/bench_serving.py"), None) if folder else None
    if package is None:
        missing.append("sglang")
    else:
        line = [str(package.parents[4] / "bin" / "python"), "-m", "sglang.bench_serving"]
        found.append(_peer("sglang", sglang(line, tokenizer), read_bench, folder))
    return found, missing


def _peer(name: str, argv: Argv, read: Callable[[Path], Report], folder: Path | None) -> Client:
    environment = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    if folder is not None and (folder / "hf").is_dir():
        environment["HF_HOME"] = str(folder / "hf")
    return Client(name, argv, read, environment, peer=True)


def _program(name: str, folder: Path | None) -> str | None:
    for place in sorted(folder.glob(f"**/bin/{name}")) if folder else ():
        return str(place)
    return shutil.which(name)
