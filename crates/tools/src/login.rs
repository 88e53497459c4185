//! The environment that commands start from, captured once for all sessions of a directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::OnceCell;
use troupe_process::{Launcher, login_environment};

use crate::call::{CallChannel, ToolEvent};
use crate::environment::{EnvironmentPolicy, Variables};

/// The user's login environment, filtered. It is captured by the first command that needs it:
/// a session without commands pays nothing, and later commands start no login shell.
#[derive(Debug)]
pub(crate) struct LoginEnvironment {
    launcher: Launcher,
    shell: PathBuf,
    policy: EnvironmentPolicy,
    inherited: Variables,
    secrets: Vec<String>,
    captured: OnceCell<CapturedEnvironment>,
}

#[derive(Debug)]
struct CapturedEnvironment {
    /// For commands of the model's.
    filtered: Arc<Variables>,
    /// For commands of the user's own.
    own: Arc<Variables>,
}

impl LoginEnvironment {
    pub(crate) fn new(
        launcher: Launcher,
        shell: PathBuf,
        policy: EnvironmentPolicy,
        inherited: Variables,
        secrets: Vec<String>,
    ) -> Self {
        Self {
            launcher,
            shell,
            policy,
            inherited,
            secrets,
            captured: OnceCell::new(),
        }
    }

    /// Returns the filtered variables.
    pub(crate) async fn variables(&self, cwd: &Path, channel: &dyn CallChannel) -> Arc<Variables> {
        Arc::clone(&self.captured(cwd, channel).await.filtered)
    }

    /// Returns what the user's own commands find: everything but the keys of model providers,
    /// because a model reads what the commands write.
    pub(crate) async fn own_variables(
        &self,
        cwd: &Path,
        channel: &dyn CallChannel,
    ) -> Arc<Variables> {
        Arc::clone(&self.captured(cwd, channel).await.own)
    }

    /// A login shell that fails is told, and the engine's own environment is used in its place.
    async fn captured(&self, cwd: &Path, channel: &dyn CallChannel) -> &CapturedEnvironment {
        let captured = self.captured.get_or_init(|| async {
            let captured =
                login_environment(&self.launcher, &self.shell, cwd, &self.inherited).await;
            let variables = match captured {
                Ok(variables) => with_own_path(variables, &self.inherited),
                Err(error) => {
                    let text = format!(
                        "the login environment of {} could not be read ({error}); commands get \
                         the environment that the engine was started with",
                        self.shell.display()
                    );
                    channel.report(ToolEvent::Warning(text)).await;
                    self.inherited.clone()
                }
            };
            let everything = EnvironmentPolicy {
                ignore_default_excludes: true,
                ..EnvironmentPolicy::default()
            };
            CapturedEnvironment {
                filtered: Arc::new(self.policy.apply(&variables, &self.secrets)),
                own: Arc::new(everything.apply(&variables, &self.secrets)),
            }
        });
        captured.await
    }
}

/// Puts the directories of the engine's own `PATH` before those of the login shell's: a
/// profile that sets `PATH` anew must not hide the tools that the user has switched on in the
/// shell that the engine was started from (a virtual environment, a version manager).
fn with_own_path(mut login: Variables, inherited: &Variables) -> Variables {
    if let Some(own) = inherited.get("PATH") {
        let profile = login.get("PATH").map_or("", String::as_str);
        let mut directories: Vec<&str> = Vec::new();
        for directory in own.split(':').chain(profile.split(':')) {
            if !directory.is_empty() && !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        let joined = directories.join(":");
        login.insert("PATH".to_owned(), joined);
    }
    login
}

/// Returns the shell that commands are written for: the user's if it is one that models know
/// well, else a plain one.
pub fn shell(inherited: &Variables) -> PathBuf {
    let users = inherited.get("SHELL").map(PathBuf::from);
    let known = users.filter(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        matches!(name, Some("bash" | "zsh")) && path.is_file()
    });
    let bash = PathBuf::from("/bin/bash");
    known.unwrap_or_else(|| {
        if bash.is_file() {
            bash
        } else {
            PathBuf::from("/bin/sh")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_user_switched_on_comes_before_the_profile() {
        let path = |text: &str| Variables::from([("PATH".to_owned(), text.to_owned())]);
        let merged = with_own_path(
            path("/usr/bin:/bin:/opt/bin"),
            &path("/venv/bin:/usr/bin::"),
        );
        assert_eq!(merged["PATH"], "/venv/bin:/usr/bin:/bin:/opt/bin");
    }
}
