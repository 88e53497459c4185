//! Layers of TOML, merged to one table that remembers where each value came from.
//!
//! ```text
//! defaults < user file < project files (only if trusted) < profile < -c key=value < flags
//!        └──────────── parse ──────────┘      │               └─ argument ─┘
//!                          └──── load: lay one over the other ────┘
//!                                        │
//!                   Config ──┬── get::<T>(section)     typed, errors name file:line and key
//!                            ├── unknown_keys(schema)  with the nearest key that exists
//!                            └── settings()            every value with its origin
//! ```
//!
//! Deliberately absent: any particular setting. Each crate declares its own section as a
//! struct; the caller hands in the JSON Schema of all of them. (`mcp_json` knows one section by
//! name, because the file is not ours.) This crate reads only the files it is given the paths of:
//! neither the environment nor the home directory.

mod argument;
mod entry;
mod error;
mod key;
mod limits;
mod load;
mod mcp_json;
mod nearest;
mod parse;
mod read;
mod unknown_keys;

pub use argument::ConfigFlag;
pub use entry::{ConfigEntry, ConfigValue, ValueLayer, ValueOrigin, ValuePlace};
pub use error::{BadValue, ConfigError, SyntaxError};
pub use key::KeyPath;
pub use load::{Config, ConfigInputs, ConfigNotice, ProjectConsent, load};
pub use nearest::nearest;
pub use unknown_keys::{NoSuchKey, UnknownKey, check_key};
