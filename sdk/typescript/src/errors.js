// Everything that this package throws by itself. Each message says what to do.

export class TroupeError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

// The program could not be started.
export class ProgramNotFound extends TroupeError {
  constructor(program, cause) {
    super(
      `${program} could not be started (${cause.code ?? cause.message}): install Troupe, ` +
        "or name the program with the option `program`",
      { cause },
    );
    this.program = program;
  }
}

// The server is gone, and with it every request that it had not answered.
export class ServerEnded extends TroupeError {
  constructor({ code, signal, stderr }) {
    const how = signal ? `by signal ${signal}` : `with exit code ${code}`;
    const said = stderr ? `; the last that it wrote:\n${stderr}` : "";
    super(`the app-server ended ${how}${said}`);
    this.code = code;
    this.signal = signal;
    this.stderr = stderr;
  }
}

// The server answered a request with an error.
export class RequestFailed extends TroupeError {
  constructor(method, { code, message, data }) {
    super(`${method}: ${message}`);
    this.method = method;
    this.code = code;
    this.data = data;
  }
}

// A turn ended with an error of the model, the provider or the engine.
export class TurnFailed extends TroupeError {
  constructor(result, error) {
    super(error?.message ?? "the turn failed without saying why");
    this.result = result;
    this.info = error?.codexErrorInfo ?? null;
  }
}

// A reader of events was so slow that they would have filled the memory.
export class EventsLost extends TroupeError {
  constructor(most) {
    super(
      `more than ${most} events were waiting to be read: read them faster, or follow fewer ` +
        "threads; `thread.read()` has what was missed",
    );
  }
}
