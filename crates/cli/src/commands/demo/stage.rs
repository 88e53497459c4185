//! The temporary directory of a demo, with a project and a home.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use troupe_mock_model::MockServer;
use troupe_protocol::discard;

use crate::arguments::{ConfigOverrides, LayerSelection};
use crate::home::TroupeHome;
use crate::layers::ConfigSource;

/// A file of the project: its path in it, and its text.
pub type ProjectFile = (&'static str, &'static str);

/// The directory. It is removed when this is dropped.
pub struct DemoStage {
    directory: PathBuf,
    keep: bool,
}

impl DemoStage {
    pub fn build(files: &[ProjectFile]) -> anyhow::Result<Self> {
        let name = format!("troupe-demo-{}", uuid::Uuid::new_v4().simple());
        // The kernel may show the same directory under another name; the sandbox must not.
        let parent = std::env::temp_dir();
        let parent = fs::canonicalize(&parent)
            .with_context(|| format!("the directory for temporary files, {}", parent.display()))?;
        let directory = parent.join(&name[..20]);
        fs::create_dir(&directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        let stage = Self {
            directory,
            keep: false,
        };
        stage
            .fill(files)
            .context("cannot write the demo's project")?;
        Ok(stage)
    }

    fn fill(&self, files: &[ProjectFile]) -> io::Result<()> {
        let project = self.project();
        make_repository(&project)?;
        for (name, text) in files {
            let path = project.join(name);
            if let Some(directory) = path.parent() {
                fs::create_dir_all(directory)?;
            }
            fs::write(path, text)?;
        }
        Ok(())
    }

    pub fn project(&self) -> PathBuf {
        self.directory.join("project")
    }

    pub fn home(&self) -> PathBuf {
        self.directory.join("home")
    }

    /// Returns the configuration of a run whose model is `server`. The home is the stage's
    /// own: a demo neither reads nor leaves anything of the user's.
    pub fn source(&self, server: &MockServer, more: &[&str]) -> ConfigSource {
        let mut config = vec![
            "model=scripted".to_owned(),
            "model_provider=scripted".to_owned(),
            format!("model_providers.scripted.base_url={}", server.base_url()),
        ];
        config.extend(more.iter().map(|&setting| setting.to_owned()));
        ConfigSource {
            home: TroupeHome::at(self.home()),
            overrides: ConfigOverrides {
                config,
                ..ConfigOverrides::default()
            },
            layers: LayerSelection::default(),
            flags: Vec::new(),
        }
    }

    pub fn keep(mut self) -> PathBuf {
        self.keep = true;
        self.directory.clone()
    }
}

impl Drop for DemoStage {
    fn drop(&mut self) {
        if !self.keep {
            // It is in the temporary directory; the system removes what we cannot.
            discard!(
                fs::remove_dir_all(&self.directory),
                error,
                "a file that is not needed any more was not removed"
            );
        }
    }
}

/// Makes an empty git repository by hand, because git need not be installed.
fn make_repository(root: &Path) -> io::Result<()> {
    let git = root.join(".git");
    fs::create_dir_all(git.join("objects"))?;
    fs::create_dir_all(git.join("refs/heads"))?;
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
    fs::write(
        git.join("config"),
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    )
}
