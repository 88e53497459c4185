//! The page for users says the keys and commands that there are.

use std::fmt::Write as _;
use std::path::PathBuf;

use troupe_tui::commands::COMMANDS;
use troupe_tui::keys::{KEY_TABLE, KeyContext, KeyStroke};

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/tui.md")
}

fn keys() -> String {
    let mut text = String::new();
    for context in KeyContext::ALL {
        writeln!(text, "\n### {} (`{}`)\n", context.heading(), context.name()).unwrap();
        text.push_str("| key | action | what it does |\n|---|---|---|\n");
        for row in KEY_TABLE.iter().filter(|row| row.context == context) {
            let keys = row
                .keys
                .iter()
                .map(|key| key.parse::<KeyStroke>().unwrap().shown());
            let keys: Vec<String> = keys.collect();
            let slash = match row.slash {
                "" => String::new(),
                slash => format!(" (`{slash}`)"),
            };
            writeln!(
                text,
                "| {} | `{}` | {}{slash} |",
                keys.join(", "),
                row.name,
                row.help
            )
            .unwrap();
        }
    }
    text.push('\n');
    text
}

fn commands() -> String {
    let mut text = "\n| command | what it does |\n|---|---|\n".to_owned();
    for command in COMMANDS {
        let line = format!("/{} {}", command.name, command.argument);
        writeln!(
            text,
            "| `{}` | {} |",
            line.trim(),
            command.help.replace('|', "\\|")
        )
        .unwrap();
    }
    text.push('\n');
    text
}

/// Puts what is made in the place of what stands between two comments.
fn filled(text: &str, name: &str, made: &str) -> String {
    let begin = text.find(&format!("<!-- {name}:")).unwrap();
    let begin = begin + text[begin..].find("-->\n").unwrap() + 4;
    let end = text.find(&format!("<!-- end of {name} -->")).unwrap();
    format!("{}{made}{}", &text[..begin], &text[end..])
}

#[test]
fn the_page_lists_the_keys_and_the_commands() {
    let text = std::fs::read_to_string(page()).unwrap();
    let made = filled(&filled(&text, "keys", &keys()), "commands", &commands());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(page(), &made).unwrap();
        return;
    }
    assert_eq!(
        text, made,
        "run UPDATE_EXPECT=1 cargo test -p troupe-tui --test it"
    );
}
