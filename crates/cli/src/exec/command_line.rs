//! A command's words as people read them.

/// Returns the words as one line that a shell would split the same way.
pub fn joined(argv: &[String]) -> String {
    shlex::try_join(argv.iter().map(String::as_str)).unwrap_or_else(|_| argv.join(" "))
}

/// Returns the script of `bash -c SCRIPT`, else the whole line.
pub fn shown(argv: &[String]) -> String {
    match argv {
        [shell, flag, script] if is_shell(shell) && matches!(flag.as_str(), "-c" | "-lc") => {
            script.clone()
        }
        _ => joined(argv),
    }
}

fn is_shell(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh")
}

#[cfg(test)]
mod tests {
    use super::{joined, shown};

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    #[test]
    fn lines_can_be_pasted_into_a_shell() {
        assert_eq!(
            joined(&words(&["git", "commit", "-m", "a b"])),
            "git commit -m 'a b'"
        );
        assert_eq!(joined(&words(&["printf", "a\0b"])), "printf a\0b");
    }

    #[test]
    fn people_see_the_script() {
        assert_eq!(shown(&words(&["/bin/bash", "-lc", "ls | wc"])), "ls | wc");
        assert_eq!(shown(&words(&["bash", "x.sh", "-c"])), "bash x.sh -c");
        assert_eq!(shown(&words(&["ls", "-l"])), "ls -l");
    }
}
