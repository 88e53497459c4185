//! The shape that the final answer is asked for in.

use std::fs;
use std::path::Path;

use serde_json::Value;
use troupe_engine::schema::Schema;

use crate::failure::Failure;
use crate::limits::{OUTPUT_SCHEMA_BYTES_MAX, SHAPE_PROBLEMS_MAX};

/// A JSON Schema, as the model is asked for it and as the answer is held against it.
#[derive(Debug)]
pub struct Shape {
    asked: Value,
    schema: Schema,
}

impl Shape {
    /// Reads the file of `--output-schema`. One that no answer could be held against is refused.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let refused =
            |why: String| Failure::usage(format!("--output-schema {}: {why}", path.display()));
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
        let schema = Schema::compile(&asked).map_err(|error| refused(error.to_string()))?;
        Ok(Self { asked, schema })
    }

    pub fn asked(&self) -> Value {
        self.asked.clone()
    }

    /// Says how an answer differs from what was asked for. It is still the answer: programs
    /// that read it look for themselves.
    pub fn misfit(&self, answer: Option<&str>) -> Option<String> {
        let answer = answer.unwrap_or_default();
        let problems = match serde_json::from_str(answer) {
            Err(error) => vec![format!("it is not JSON: {error}")],
            Ok(value) => {
                let problems = self.schema.check(&value, SHAPE_PROBLEMS_MAX);
                problems.iter().map(ToString::to_string).collect()
            }
        };
        if problems.is_empty() {
            return None;
        }
        Some(format!(
            "the answer does not follow the output schema: {}",
            problems.join("; ")
        ))
    }
}
