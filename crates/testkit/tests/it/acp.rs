//! The Agent Client Protocol, both ways: programs that are children, and editors.

mod backends;
mod editor;

use serde_json::{Map, Value, json};
use troupe_acp::backend::BackendConfig;

/// The program of `acp-agent`, configured as a backend, to which `keys` are added.
pub(super) fn program(keys: Value) -> BackendConfig {
    let mut config = json!({"command": env!("CARGO_BIN_EXE_acp-agent")});
    let keys: Map<String, Value> = serde_json::from_value(keys).expect("keys of a table");
    config.as_object_mut().expect("a table").extend(keys);
    serde_json::from_value(config).expect("a configuration")
}
