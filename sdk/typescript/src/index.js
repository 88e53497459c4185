// A client of `troupe app-server`: `troupe.js` is where to begin.

export { Agent } from "./agent.js";
export {
  EventsLost,
  ProgramNotFound,
  RequestFailed,
  ServerEnded,
  TroupeError,
  TurnFailed,
} from "./errors.js";
export { Thread, Turn } from "./thread.js";
export { Troupe } from "./troupe.js";
