//! Old ways to write a setting that are still understood.

use std::fmt;

use troupe_config::{Config, KeyPath};
use troupe_engine::SetupNotice;

/// Values with another name today: the key, how it was written, how it is.
const RENAMED_VALUES: [(&str, &str, &str); 4] = [
    ("collaboration_mode", "code", "default"),
    ("collaboration_mode", "pair_programming", "default"),
    ("collaboration_mode", "execute", "default"),
    ("collaboration_mode", "custom", "default"),
];

/// Something in a configuration that should be written otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeprecatedSetting {
    summary: String,
    advice: String,
}

impl DeprecatedSetting {
    /// Looks for what is old in a configuration.
    pub fn find(config: &Config) -> Vec<Self> {
        let old = |(name, old, new): (&str, &str, &str)| {
            let entry = config.find(&KeyPath::root().child(name))?;
            (entry.as_str() == Some(old)).then(|| Self {
                summary: format!("{}: {name} = {old:?} is an old name", entry.origin),
                advice: format!("write {name} = {new:?}, which means the same"),
            })
        };
        RENAMED_VALUES.into_iter().filter_map(old).collect()
    }
}

impl fmt::Display for DeprecatedSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.summary, self.advice)
    }
}

impl From<DeprecatedSetting> for SetupNotice {
    fn from(deprecated: DeprecatedSetting) -> Self {
        Self::Deprecated {
            summary: deprecated.summary,
            details: Some(deprecated.advice),
        }
    }
}
