//! The user's editor, which takes the terminal while it runs.

use std::env;
use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use troupe_process::run_on_terminal;
use troupe_tui::EditorCommand;
use troupe_tui::run::EditText;

/// An editor as `VISUAL` or `EDITOR` names it: a command of a shell.
#[derive(Debug)]
struct UserEditor {
    command: String,
}

/// Returns the user's editor, if one is named.
pub fn of_user() -> Option<EditorCommand> {
    let named = |name| env::var(name).ok().filter(|command| !command.is_empty());
    let command = named("VISUAL").or_else(|| named("EDITOR"))?;
    Some(Arc::new(UserEditor { command }))
}

#[async_trait]
impl EditText for UserEditor {
    async fn edit(&self, text: String) -> io::Result<String> {
        let file = tempfile::Builder::new().suffix(".md").tempfile()?;
        std::fs::write(file.path(), &text)?;
        let path = file.path().to_owned();
        let command = self.command.clone();
        let done = tokio::task::spawn_blocking(move || run_on_terminal(&command, &path)).await;
        if done.map_err(io::Error::other)?? {
            std::fs::read_to_string(file.path())
        } else {
            Ok(text)
        }
    }
}
