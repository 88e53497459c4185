//! `@file` in a prompt: the model is pointed at the file, and shown it if it is a picture.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use troupe_protocol::input::UserInput;
use troupe_tools::{ModelPicture, PictureScale};

use crate::limits::MENTIONS_MAX;

/// What may stand behind a path in a sentence.
const PUNCTUATION: [char; 9] = ['.', ',', ';', ':', '!', '?', ')', ']', '\''];

/// Returns what a prompt points at: words that begin with `@` and lead to something that is there.
/// Other words of that kind, such as the names of people and packages, are left alone.
pub fn mentioned(prompt: &str, cwd: &Path) -> Vec<UserInput> {
    let mut seen = BTreeSet::new();
    let words = prompt.split_whitespace();
    let names = words.filter_map(|word| {
        let word = word.trim_start_matches(['(', '[', '"', '\'']);
        named(word.strip_prefix('@')?, cwd)
    });
    let new = names.filter(|(name, _)| seen.insert(name.clone()));
    let new = new.take(MENTIONS_MAX);
    new.map(|(name, path)| input(name, path)).collect()
}

/// Returns a path that is there, as it was written and in full.
fn named(word: &str, cwd: &Path) -> Option<(String, PathBuf)> {
    let mut name = word;
    loop {
        let path = cwd.join(name);
        if !name.is_empty() && path.exists() {
            return Some((name.to_owned(), path));
        }
        name = name.strip_suffix(PUNCTUATION)?;
    }
}

fn input(name: String, path: PathBuf) -> UserInput {
    let is_picture = path.is_file() && ModelPicture::read(&path, PictureScale::Fitting).is_ok();
    if is_picture {
        return UserInput::LocalImage { path, detail: None };
    }
    UserInput::Mention {
        name,
        path: path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use troupe_protocol::input::UserInput;

    use super::mentioned;

    #[test]
    fn words_that_lead_to_files_are_mentions_and_others_are_words() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "fn a() {}").unwrap();
        fs::write(root.join("b.md"), "b").unwrap();
        let prompt = "ask @alice about @src/a.rs, (@b.md) and @src/a.rs: mail a@b.md @types/node @";
        let names: Vec<String> = mentioned(prompt, root)
            .into_iter()
            .map(|input| match input {
                UserInput::Mention { name, path } => {
                    assert_eq!(path, root.join(&name).display().to_string());
                    name
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names, ["src/a.rs", "b.md"]);
    }
}
