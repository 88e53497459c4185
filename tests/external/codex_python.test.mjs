// The Python client of the app-server protocol, which we did not write, drives our program.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/codex_python.test.mjs

import { test } from "node:test";

import { runSuite } from "./scripted.mjs";

test("the Python client works unchanged", () => runSuite("codex_python.py", "codex_python.toml"));
