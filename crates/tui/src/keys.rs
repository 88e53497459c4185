//! Keys: what they are called, and what they do. One table, from which the footer, the help and
//! the page `docs/tui.md` are made.

mod stroke;
mod table;

use std::collections::{BTreeMap, HashMap};

pub use stroke::KeyStroke;
pub use table::{KEY_TABLE, KeyAction, KeyBinding, KeyContext};

/// Which key does what, with the user's own keys in the place of those of the table.
#[derive(Debug, Clone)]
pub struct KeyMap {
    actions: HashMap<(KeyContext, KeyStroke), KeyAction>,
    keys: HashMap<(KeyContext, KeyAction), Vec<KeyStroke>>,
}

/// `[tui.keymap]`: context, action, keys.
pub type KeyMapSettings = BTreeMap<String, BTreeMap<String, Vec<String>>>;

impl KeyMap {
    /// Fails with a sentence that names the entry that means nothing.
    pub fn new(settings: &KeyMapSettings) -> Result<Self, String> {
        let mut map = Self {
            actions: HashMap::new(),
            keys: HashMap::new(),
        };
        for (context, actions) in settings {
            for action in actions.keys() {
                let known = KEY_TABLE
                    .iter()
                    .any(|row| row.context.name() == context && row.name == action);
                if !known {
                    return Err(format!(
                        "tui.keymap.{context}.{action}: there is no such action"
                    ));
                }
            }
        }
        for row in KEY_TABLE {
            let own = settings
                .get(row.context.name())
                .and_then(|actions| actions.get(row.name));
            let place = format!("tui.keymap.{}.{}", row.context.name(), row.name);
            let names: Vec<&str> = match own {
                Some(own) => own.iter().map(String::as_str).collect(),
                None => row.keys.to_vec(),
            };
            for name in names {
                let stroke: KeyStroke = name.parse().map_err(|why| format!("{place}: {why}"))?;
                let before = map.actions.insert((row.context, stroke), row.action);
                if let Some(before) = before.filter(|before| *before != row.action) {
                    let other = KEY_TABLE.iter().find(|other| other.action == before);
                    let other = other.map_or("another action", |other| other.name);
                    return Err(format!("{place}: {name} already is the key of {other}"));
                }
                map.keys
                    .entry((row.context, row.action))
                    .or_default()
                    .push(stroke);
            }
        }
        Ok(map)
    }

    pub fn action(&self, context: KeyContext, stroke: KeyStroke) -> Option<KeyAction> {
        self.actions.get(&(context, stroke)).copied()
    }

    /// Returns the first key of an action, as people read it.
    pub fn key_text(&self, context: KeyContext, action: KeyAction) -> String {
        let keys = self.keys.get(&(context, action));
        keys.and_then(|keys| keys.first())
            .map(|key| key.shown())
            .unwrap_or_default()
    }

    /// Returns what the footer says of a context: its rows that have a short word.
    pub fn footer(&self, context: KeyContext) -> Vec<(String, &'static str)> {
        let rows = KEY_TABLE
            .iter()
            .filter(|row| row.context == context && !row.short.is_empty());
        rows.map(|row| (self.key_text(context, row.action), row.short))
            .collect()
    }

    /// Returns the lines of the help: keys, and what they do.
    pub fn help(&self, context: KeyContext) -> Vec<(String, &'static str)> {
        let rows = KEY_TABLE.iter().filter(|row| row.context == context);
        rows.map(|row| {
            let keys = self.keys.get(&(context, row.action));
            let keys: Vec<String> = keys.into_iter().flatten().map(|key| key.shown()).collect();
            (keys.join(" "), row.help)
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole_and_no_key_means_two_things() {
        let map = KeyMap::new(&KeyMapSettings::new()).unwrap();
        for row in KEY_TABLE {
            assert!(!row.help.is_empty() && !row.keys.is_empty(), "{}", row.name);
            assert!(!map.key_text(row.context, row.action).is_empty());
        }
    }

    #[test]
    fn users_choose_keys_and_are_told_of_mistakes() {
        let set = |context: &str, action: &str, key: &str| {
            let actions = BTreeMap::from([(action.to_owned(), vec![key.to_owned()])]);
            KeyMap::new(&KeyMapSettings::from([(context.to_owned(), actions)]))
        };
        let map = set("main", "transcript", "f2").unwrap();
        let stroke = "f2".parse().unwrap();
        assert_eq!(
            map.action(KeyContext::Main, stroke),
            Some(KeyAction::Transcript)
        );
        assert_eq!(
            map.action(KeyContext::Main, "ctrl-t".parse().unwrap()),
            None
        );
        let said = |result: Result<KeyMap, String>| result.unwrap_err();
        assert_eq!(
            said(set("main", "fly", "f2")),
            "tui.keymap.main.fly: there is no such action"
        );
        assert_eq!(
            said(set("main", "transcript", "hyper-q")),
            "tui.keymap.main.transcript: hyper-q is no key: write it like `ctrl-t`, `alt-up` or `f2`"
        );
        assert_eq!(
            said(set("main", "transcript", "enter")),
            "tui.keymap.main.transcript: enter already is the key of submit"
        );
    }
}
