//! The app-server's types for the clients in `sdk/`, printed from its JSON Schema.
//!
//! `schema` reads the document as a few shapes; `typescript` and `python` print them. What the
//! schema says in a way that is not one of the shapes is an error here, never a guess there.

mod python;
mod schema;
mod typescript;

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

/// What the types are printed from.
pub const SCHEMA: &str = "crates/app-server/schema/troupe-app-server.schema.json";

/// A generated file.
pub struct File {
    /// Below the root of the repository.
    pub path: &'static str,
    pub text: String,
}

/// Returns the files as they should be.
pub fn files(root: &Path) -> Result<Vec<File>> {
    let text = fs::read_to_string(root.join(SCHEMA)).context(SCHEMA)?;
    let types = schema::read(&text).context(SCHEMA)?;
    Ok(vec![
        File {
            path: "sdk/typescript/src/protocol.d.ts",
            text: typescript::print(&types),
        },
        File {
            path: "sdk/python/troupe_sdk/protocol.py",
            text: python::print(&types),
        },
    ])
}

pub fn generate(root: &Path) -> Result<()> {
    for file in files(root)? {
        fs::write(root.join(file.path), file.text).context(file.path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
