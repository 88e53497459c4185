//! All routes of the daemon, in the order of the documents.

use http::{Method, StatusCode};

use crate::handlers::{
    approvals, callbacks, events, messages, meta, prompts, sessions, spawning, stops, tasks, trees,
    waiting,
};
use crate::route::RouteScope::{Act, Answer, Open, Read};
use crate::route::{Route, RouteHead, RouteScope, route, stream};

fn get(
    path: &'static str,
    operation: &'static str,
    scope: RouteScope,
    summary: &'static str,
) -> RouteHead {
    RouteHead::new(Method::GET, path, operation, scope, summary)
}

fn post(
    path: &'static str,
    operation: &'static str,
    scope: RouteScope,
    summary: &'static str,
) -> RouteHead {
    RouteHead::new(Method::POST, path, operation, scope, summary)
}

fn patch(path: &'static str, operation: &'static str, summary: &'static str) -> RouteHead {
    RouteHead::new(Method::PATCH, path, operation, Act, summary)
}

fn delete(path: &'static str, operation: &'static str, summary: &'static str) -> RouteHead {
    RouteHead::new(Method::DELETE, path, operation, Act, summary)
}

#[rustfmt::skip]
pub(crate) fn route_table() -> Vec<Route> {
    vec![
        route(get("/health", "getHealth", Open, "Tells that the daemon is there."), meta::health),
        route(get("/version", "getVersion", Open, "Tells which program it is."), meta::version),
        route(get("/openapi.json", "getOpenApi", Open, "Describes all routes."), meta::document),
        route(post("/sessions", "createSession", Act, "Makes a session, and gives it its first task.").status(StatusCode::CREATED), sessions::create),
        route(get("/sessions", "listSessions", Read, "Lists the sessions that changed last."), sessions::list),
        route(get("/sessions/{session}", "getSession", Read, "Tells how a session stands."), sessions::get),
        route(patch("/sessions/{session}", "changeSession", "Changes title, note, archive or callbacks, also while it runs."), sessions::change),
        route(delete("/sessions/{session}", "deleteSession", "Deletes a session for good, and all below it."), sessions::delete),
        route(post("/sessions/{session}/prompt", "promptSession", Act, "Gives a session something to do.").status(StatusCode::ACCEPTED), prompts::prompt),
        route(post("/sessions/{session}/spawn", "spawnSession", Act, "Makes a child, which calls its parent back.").status(StatusCode::CREATED), spawning::spawn),
        route(post("/sessions/{session}/fork", "forkSession", Act, "Makes a session with the history of another.").status(StatusCode::CREATED), spawning::fork),
        route(post("/sessions/{session}/stop", "stopSession", Act, "Stops a session, or tells what that would touch."), stops::stop),
        route(post("/sessions/{session}/resume", "resumeSession", Act, "Brings a closed session back, and has a stopped one go on."), stops::resume),
        route(get("/sessions/{session}/messages", "listMessages", Read, "Returns what was said and done in a session."), messages::list),
        route(get("/sessions/{session}/queue", "getQueue", Read, "Returns what waits to be taken by a session."), messages::queue),
        stream(get("/sessions/{session}/events", "watchSession", Read, "Follows the events of a session, by their numbers.").events(), events::watch),
        route(get("/sessions/{session}/tasks", "listTasks", Read, "Returns the tasks of a session."), tasks::list),
        route(get("/sessions/{session}/tree", "getTree", Read, "Returns a session and everybody below it."), trees::tree),
        route(get("/sessions/{session}/genealogy", "getGenealogy", Read, "Returns where a session comes from, and who comes from it."), trees::genealogy),
        route(get("/sessions/{session}/wait", "waitForSession", Read, "Answers when a session, or its whole tree, has nothing to do."), waiting::wait),
        route(post("/sessions/{session}/callback-preview", "previewCallback", Read, "Shows what a parent would be told of an example child."), callbacks::preview),
        route(get("/tasks/{task}", "getTask", Read, "Tells how a task stands."), tasks::get),
        route(get("/tasks/{task}/result", "getTaskResult", Read, "Returns what a task came to, with what the engine saw."), tasks::result),
        route(get("/approvals", "listApprovals", Read, "Lists what waits for a person, over all trees."), approvals::list),
        route(post("/approvals/{approval}/decision", "decideApproval", Answer, "Answers one question; the first answer counts."), approvals::decide),
        route(post("/approvals/decisions", "decideApprovals", Answer, "Answers many questions in the same way."), approvals::decide_all),
    ]
}

#[cfg(test)]
mod tests;
