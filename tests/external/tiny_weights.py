"""Makes a tiny model of noise, for long prompts: `tiny_weights.py SOURCE.gguf TARGET.gguf`.

It has the tokenizer and the chat template of the source and two narrow layers of seeded
random numbers. What it says is nonsense and ends after a few dozen words, but a server
treats it as any other model, and reads a prompt some fifty times faster than the smallest
real one.
"""

import pathlib
import random
import struct
import sys

WIDTH = 64
FEED_FORWARD = 128
LAYERS = 2
HEADS = 2
CONTEXT_TOKENS = 32768
ALIGNMENT = 32
# One number of each token's state is the same for all and never changed by a layer. Only
# the token that ends an answer reads it, and so has the same chance after every word.
CONSTANT = 127
CONSTANT_GAIN = 10.0
END_SCALE = 0.04
SCALE = 0.002

F32, Q8_0 = 0, 8
U32, STRING, ARRAY = 4, 8, 9
# Sizes of the fixed-width kinds of values in a GGUF file.
FIXED = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}

OVERRIDES = {
    "llama.block_count": LAYERS,
    "llama.context_length": CONTEXT_TOKENS,
    "llama.embedding_length": WIDTH,
    "llama.feed_forward_length": FEED_FORWARD,
    "llama.attention.head_count": HEADS,
    "llama.attention.head_count_kv": HEADS,
    "llama.rope.dimension_count": WIDTH // HEADS,
}


class Reader:
    def __init__(self, data: bytes):
        self.data, self.at = data, 0

    def take(self, layout: str):
        (value,) = struct.unpack_from("<" + layout, self.data, self.at)
        self.at += struct.calcsize("<" + layout)
        return value

    def string(self) -> str:
        length = self.take("Q")
        self.at += length
        return self.data[self.at - length : self.at].decode()

    def skip(self, kind: int) -> None:
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            kind, count = self.take("I"), self.take("Q")
            if kind in FIXED:
                self.at += FIXED[kind] * count
            else:
                for _ in range(count):
                    self.skip(kind)
        else:
            self.at += FIXED[kind]


def metadata(source: bytes) -> tuple[int, list[bytes], int, int]:
    """Returns the version, the encoded key-value pairs, the size of the vocabulary and the
    token that ends an answer."""
    reader = Reader(source)
    if reader.take("I") != 0x46554747:
        sys.exit("tiny_weights: the source is no GGUF file")
    version, _tensors, pairs = reader.take("I"), reader.take("Q"), reader.take("Q")
    kept, vocabulary, end = [], 0, 0
    for _ in range(pairs):
        begin = reader.at
        key = reader.string()
        kind = reader.take("I")
        if key == "tokenizer.ggml.tokens":
            (vocabulary,) = struct.unpack_from("<Q", source, reader.at + 4)
        if key == "tokenizer.ggml.eos_token_id":
            (end,) = struct.unpack_from("<I", source, reader.at)
        reader.skip(kind)
        if key not in OVERRIDES:
            kept.append(source[begin : reader.at])
    kept += [encoded(key) + struct.pack("<II", U32, value) for key, value in OVERRIDES.items()]
    return version, kept, vocabulary, end


def encoded(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def tensors(vocabulary: int):
    """Yields (name, dimensions); a norm has one dimension."""
    yield "token_embd.weight", (WIDTH, vocabulary)
    yield "output_norm.weight", (WIDTH,)
    for layer in range(LAYERS):
        for name, *dimensions in [
            ("attn_norm", WIDTH),
            ("attn_q", WIDTH, WIDTH),
            ("attn_k", WIDTH, WIDTH),
            ("attn_v", WIDTH, WIDTH),
            ("attn_output", WIDTH, WIDTH),
            ("ffn_norm", WIDTH),
            ("ffn_gate", WIDTH, FEED_FORWARD),
            ("ffn_up", WIDTH, FEED_FORWARD),
            ("ffn_down", FEED_FORWARD, WIDTH),
        ]:
            yield f"blk.{layer}.{name}.weight", tuple(dimensions)


def content(name: str, dimensions: tuple[int, ...], end: int, noise: random.Random) -> bytes:
    if len(dimensions) == 1:
        gain = CONSTANT_GAIN if name == "output_norm.weight" else 1.0
        return struct.pack(f"<{WIDTH}f", gain, *[1.0] * (WIDTH - 1))
    columns, rows = dimensions
    if name == "token_embd.weight":
        return b"".join(end_row() if row == end else token_row(noise) for row in range(rows))
    silent = [block(0.0, bytes(32))] * (columns // 32)
    loud = [block(SCALE, noise.randbytes(32)) for _ in range(columns * rows // 32)]
    if name.endswith(("attn_output.weight", "ffn_down.weight")):
        loud[: len(silent)] = silent
    return b"".join(loud)


def token_row(noise: random.Random) -> bytes:
    return block(SCALE, bytes([CONSTANT]) + noise.randbytes(31)) + block(SCALE, noise.randbytes(32))


def end_row() -> bytes:
    return block(END_SCALE, bytes([CONSTANT]) + bytes(31)) + block(0.0, bytes(32))


def block(scale: float, values: bytes) -> bytes:
    """32 numbers of one byte each, with a common scale."""
    return struct.pack("<e", scale) + values


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)


def tiny(source: bytes) -> bytes:
    version, pairs, vocabulary, end = metadata(source)
    noise = random.Random(1)
    infos, body, names = b"", b"", 0
    for name, dimensions in tensors(vocabulary):
        kind = F32 if len(dimensions) == 1 else Q8_0
        layout = f"<I{len(dimensions)}QIQ"
        infos += encoded(name) + struct.pack(layout, len(dimensions), *dimensions, kind, len(body))
        body += padded(content(name, dimensions, end, noise))
        names += 1
    header = struct.pack("<IIQQ", 0x46554747, version, names, len(pairs))
    return padded(header + b"".join(pairs) + infos) + body


if __name__ == "__main__":
    source, target = map(pathlib.Path, sys.argv[1:])
    target.write_bytes(tiny(source.read_bytes()))
