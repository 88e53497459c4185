// Our own client for Python: the suite is `sdk_python.py`.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/sdk_python.test.mjs

import { test } from "node:test";

import { runSuite } from "./scripted.mjs";

test("our Python client works", () => runSuite("sdk_python.py", "sdk.toml"));
