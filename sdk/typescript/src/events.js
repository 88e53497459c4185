// Events that wait to be read: an async iterator that is filled from outside.

import { EventsLost } from "./errors.js";

// A reader that is this far behind is given up.
const WAITING_MAX = 10_000;

export class Events {
  #waiting = [];
  // Readers that are ahead of the events.
  #readers = [];
  // How it ended, once it has: an error or a plain end.
  #end = null;
  #left;

  // `left` is called when nobody will read any more.
  constructor(left = () => {}) {
    this.#left = left;
  }

  push(event) {
    if (this.#end) return;
    const reader = this.#readers.shift();
    if (reader) reader.resolve({ value: event, done: false });
    else if (this.#waiting.length < WAITING_MAX) this.#waiting.push(event);
    else this.fail(new EventsLost(WAITING_MAX));
  }

  // No more events: what waits is still read.
  finish() {
    this.#close({});
  }

  // What waits is still read, then the reader meets the error.
  fail(error) {
    this.#close({ error });
  }

  next() {
    if (this.#waiting.length > 0) {
      return Promise.resolve({ value: this.#waiting.shift(), done: false });
    }
    if (!this.#end) return new Promise((resolve, reject) => this.#readers.push({ resolve, reject }));
    const { error } = this.#end;
    // Told once; who asks again after it has ended is told just that.
    this.#end = {};
    return error ? Promise.reject(error) : Promise.resolve({ value: undefined, done: true });
  }

  // The reader leaves.
  return() {
    this.#waiting = [];
    this.#close({});
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  #close(end) {
    if (this.#end) return;
    this.#end = end;
    for (const reader of this.#readers.splice(0)) {
      if (end.error) reader.reject(end.error);
      else reader.resolve({ value: undefined, done: true });
    }
    this.#left();
  }
}
