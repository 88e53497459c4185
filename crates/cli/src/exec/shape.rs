//! The shape that the final answer is asked for in.

use std::fs;
use std::path::Path;

use serde_json::Value;
use troupe_schema::AnswerSchema;

use crate::failure::CommandFailure;
use crate::limits::OUTPUT_SCHEMA_BYTES_MAX;

/// A JSON Schema that the answer is held against.
#[derive(Debug)]
pub struct AnswerShape(Value);

impl AnswerShape {
    /// Reads the file of `--output-schema`. One that no answer could be held against is refused.
    pub fn read(path: &Path) -> Result<Self, CommandFailure> {
        let refused = |why: String| {
            CommandFailure::usage(format!("--output-schema {}: {why}", path.display()))
        };
        let size = fs::metadata(path)
            .map_err(|error| refused(error.to_string()))?
            .len();
        if size > OUTPUT_SCHEMA_BYTES_MAX {
            return Err(refused(format!(
                "larger than {OUTPUT_SCHEMA_BYTES_MAX} bytes"
            )));
        }
        let bytes = fs::read(path).map_err(|error| refused(error.to_string()))?;
        let asked: Value =
            serde_json::from_slice(&bytes).map_err(|error| refused(error.to_string()))?;
        if !asked.is_object() {
            return Err(refused("a JSON Schema is a JSON object".to_owned()));
        }
        AnswerSchema::compile(&asked).map_err(|error| refused(error.to_string()))?;
        Ok(Self(asked))
    }

    pub fn into_value(self) -> Value {
        self.0
    }
}
