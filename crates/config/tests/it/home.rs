//! A machine in a temporary directory: a user's file and a project.

use std::fs;
use std::path::{Path, PathBuf};

use troupe_config::{Config, ConfigError, ConfigFlag, ConfigInputs, KeyPath, load};

pub const DEFAULTS: &str = "model = \"built-in\"\nretries = 4\n";

pub struct Home {
    directory: tempfile::TempDir,
    pub arguments: Vec<String>,
    pub flags: Vec<ConfigFlag>,
    pub profile: Option<String>,
}

impl Home {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("project/.git")).unwrap();
        fs::create_dir_all(directory.path().join("project/deep/er")).unwrap();
        Self {
            directory,
            arguments: Vec::new(),
            flags: Vec::new(),
            profile: None,
        }
    }

    /// Writes a file; `PROJECT` in the text becomes the path of the project.
    pub fn file(self, name: &str, text: &str) -> Self {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let project = self.path("project").display().to_string();
        fs::write(path, text.replace("PROJECT", &project)).unwrap();
        self
    }

    pub fn user(self, text: &str) -> Self {
        self.file("config.toml", text)
    }

    pub fn argument(mut self, text: &str) -> Self {
        self.arguments.push(text.to_owned());
        self
    }

    pub fn flag(mut self, name: &'static str, key: &str, value: &str) -> Self {
        self.flags.push(ConfigFlag {
            name,
            key: KeyPath::parse(key).unwrap(),
            value: value.to_owned(),
        });
        self
    }

    pub fn profile(mut self, name: &str) -> Self {
        self.profile = Some(name.to_owned());
        self
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn load(&self) -> Result<Config, ConfigError> {
        load(&ConfigInputs {
            defaults: DEFAULTS,
            user_file: Some(&self.path("config.toml")),
            user_text: None,
            cwd: Some(&self.path("project/deep/er")),
            repository_root: Some(&self.path("project")),
            profile: self.profile.as_deref(),
            arguments: &self.arguments,
            flags: &self.flags,
            consent: None,
            variables: Some(|name| (name == "SCRIPT").then(|| "ore.sh".to_owned())),
        })
    }

    /// Replaces the temporary path, which differs from run to run.
    pub fn shown(&self, text: &str) -> String {
        let path: &Path = self.directory.path();
        text.replace(&path.display().to_string(), "HOME")
    }

    /// Every value with its origin, one per line; or the error.
    pub fn settings(&self) -> String {
        match self.load() {
            Ok(config) => {
                let lines = config.settings().into_iter().map(|(key, entry)| {
                    let layer = entry.origin.layer.as_str();
                    format!("{key} = {}  # {layer}, {}\n", entry.value, entry.origin)
                });
                let notices = config.notices().iter().map(|notice| format!("{notice}\n"));
                self.shown(&lines.chain(notices).collect::<String>())
            }
            Err(error) => self.shown(&error.to_string()),
        }
    }
}
