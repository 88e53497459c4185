// What the server asks of a person, put to the callbacks of the program that uses this package.

const APPROVALS = {
  "item/commandExecution/requestApproval": "command",
  "item/fileChange/requestApproval": "fileChange",
};

export class Questions {
  #callbacks;
  // Questions that are open, by the id of the server's request.
  #open = new Map();

  constructor({ onApproval, onQuestion, onElicitation }) {
    this.#callbacks = { onApproval, onQuestion, onElicitation };
  }

  // Returns the answer, or nothing if there is no callback for it; the server then declines.
  async answer(method, params, id) {
    const ask = this.#asking(method, params);
    if (!ask) return undefined;
    const withdrawn = new AbortController();
    this.#open.set(id, withdrawn);
    try {
      return await ask(withdrawn.signal);
    } finally {
      this.#open.delete(id);
    }
  }

  // Somebody else answered: the callback hears it from its signal.
  hear({ method, params }) {
    if (method === "serverRequest/resolved") this.#open.get(params.requestId)?.abort();
  }

  #asking(method, params) {
    const { onApproval, onQuestion, onElicitation } = this.#callbacks;
    const kind = APPROVALS[method];
    if (kind && onApproval) {
      return async (signal) => ({ decision: await onApproval({ kind, ...params }, { signal }) });
    }
    if (method === "item/tool/requestUserInput" && onQuestion) {
      return async (signal) => ({ answers: answers(await onQuestion(params, { signal })) });
    }
    if (method === "mcpServer/elicitation/request" && onElicitation) {
      return (signal) => onElicitation(params, { signal });
    }
    return undefined;
  }
}

// A single text may stand for a list of one.
function answers(given) {
  const listed = Object.entries(given ?? {}).map(([id, answer]) => [id, { answers: [answer].flat() }]);
  return Object.fromEntries(listed);
}
