// Two agents work at the same time; one of them is given more to do on the way.
//
//   node examples/tree.mjs

// @ts-check
import { Troupe } from "troupe-sdk";

const troupe = await Troupe.start({
  program: process.env.TROUPE_BIN ?? "troupe",
  config: JSON.parse(process.env.TROUPE_CONFIG ?? "{}"),
  onApproval: ({ kind, agentPath }) => {
    console.log(`${agentPath ?? "/root"} asks about a ${kind}: accepted`);
    return "accept";
  },
});

try {
  const thread = await troupe.startThread({ sandbox: "workspace-write" });
  const tests = await thread.spawn("run the tests", { name: "tests" });
  const docs = await thread.spawn("read the documents", { name: "docs" });
  await docs.send("and count their words");

  for (const agent of [tests, docs]) {
    const { completed, text, evidence } = await agent.wait();
    const outcome = completed ? "completed" : "failed";
    console.log(`${agent.path} ${outcome} after ${evidence.commands.length} commands: ${text}`);
  }

  for await (const event of thread.stream("sum up what they found")) {
    if (event.method === "item/agentMessage/delta") process.stdout.write(event.params.delta);
  }
  process.stdout.write("\n");
} finally {
  await troupe.close();
}
