// What is said to an agent.

// A text stands for one item of text.
export function items(input) {
  return typeof input === "string" ? [{ type: "text", text: input }] : input;
}
