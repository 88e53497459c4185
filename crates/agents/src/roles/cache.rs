//! Role files that were read before.
//!
//! A file is read again at each use and parsed only if it changed. Reading costs less than
//! it takes to explain when times and sizes of files can be trusted, and the children of one
//! role share one copy of its prompt.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::claude;
use super::error::{InvalidRoleFile, RoleError, SchemaProblem};
use super::file;
use super::limits::CACHED_ROLES_MAX;
use super::name::RoleName;
use super::parse::{not_text, parse};
use super::places::RoleDirectory;
use super::role::{AgentRole, RoleDialect, RoleOrigin};

#[derive(Debug, Default)]
pub(super) struct RoleCache {
    parsed: Mutex<HashMap<PathBuf, ParsedRole>>,
}

/// A role and every byte that it was made of.
#[derive(Debug)]
struct ParsedRole {
    role: Arc<AgentRole>,
    text: Vec<u8>,
    schema: Option<CachedSchema>,
}

#[derive(Debug)]
struct CachedSchema {
    path: String,
    text: Vec<u8>,
}

impl RoleCache {
    /// Returns the role in a file as the file is now.
    pub fn load(
        &self,
        name: RoleName,
        place: &RoleDirectory,
        path: PathBuf,
    ) -> Result<Arc<AgentRole>, RoleError> {
        let origin = place.origin(path.clone());
        let text = file::read(&path).map_err(|source| RoleError::Read {
            path: path.clone(),
            source,
        })?;
        if let Some(role) = self.unchanged(&origin, &path, &text) {
            return Ok(role);
        }
        let mut schema = None;
        let mut read_schema = |path: &str| -> Result<Vec<u8>, SchemaProblem> {
            let text = file::read_schema(&origin, path)?;
            schema = Some(CachedSchema {
                path: path.to_owned(),
                text: text.clone(),
            });
            Ok(text)
        };
        let read = match place.dialect() {
            RoleDialect::Own => parse(name, origin.clone(), &text, &mut read_schema),
            RoleDialect::ClaudeCode => match std::str::from_utf8(&text) {
                Ok(text) => claude::parse(name, origin.clone(), text),
                Err(error) => Err(not_text(&text, error.valid_up_to())),
            },
        };
        let role = match read {
            Ok(role) => Arc::new(role),
            Err(fault) => {
                return Err(RoleError::Invalid(Box::new(InvalidRoleFile {
                    path,
                    fault,
                })));
            }
        };
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if parsed.len() >= CACHED_ROLES_MAX {
            parsed.clear();
        }
        let entry = ParsedRole {
            role: Arc::clone(&role),
            text,
            schema,
        };
        parsed.insert(path, entry);
        Ok(role)
    }

    fn unchanged(&self, origin: &RoleOrigin, path: &Path, text: &[u8]) -> Option<Arc<AgentRole>> {
        let parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = parsed.get(path)?;
        let same_schema = known.schema.as_ref().is_none_or(|schema| {
            file::read_schema(origin, &schema.path).is_ok_and(|text| text == schema.text)
        });
        let same = known.text == text && known.role.origin == *origin && same_schema;
        same.then(|| Arc::clone(&known.role))
    }
}
