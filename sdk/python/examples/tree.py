"""Two agents work at the same time; one of them is given more to do on the way.

    python examples/tree.py
"""

import asyncio
import json
import os

from troupe_sdk import Troupe
from troupe_sdk.protocol import ApprovalDecision, CommandApprovalParams, FileChangeApprovalParams


def accept(approval: "CommandApprovalParams | FileChangeApprovalParams") -> ApprovalDecision:
    print(f"{approval['agentPath'] or '/root'} asks ({approval['reason']}): accepted")
    return "accept"


async def main() -> None:
    async with Troupe(
        program=os.environ.get("TROUPE_BIN", "troupe"),
        config=json.loads(os.environ.get("TROUPE_CONFIG", "{}")),
        on_approval=accept,
    ) as troupe:
        thread = await troupe.start_thread(sandbox="workspace-write")
        tests = await thread.spawn("run the tests", name="tests")
        docs = await thread.spawn("read the documents", name="docs")
        await docs.send("and count their words")

        for agent in (tests, docs):
            result = await agent.wait()
            outcome = "completed" if result["completed"] else "failed"
            commands = len(result["evidence"]["commands"])
            print(f"{agent.path} {outcome} after {commands} commands: {result['text']}")

        async for event in thread.stream("sum up what they found"):
            if event["method"] == "item/agentMessage/delta":
                print(event["params"]["delta"], end="", flush=True)
        print()


asyncio.run(main())
