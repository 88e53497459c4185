//! One key with what is held down with it.

use std::fmt;
use std::str::FromStr;

use termina::event::{KeyCode, Modifiers};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyStroke {
    pub code: KeyCode,
    pub modifiers: Modifiers,
}

impl std::hash::Hash for KeyStroke {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.to_string().hash(state);
    }
}

impl KeyStroke {
    /// Brings what terminals say in different ways to one: a capital letter is itself and not
    /// shift, and locks do not count.
    pub fn new(code: KeyCode, modifiers: Modifiers) -> Self {
        let mut modifiers = modifiers & (Modifiers::CONTROL | Modifiers::ALT | Modifiers::SHIFT);
        let code = match code {
            KeyCode::BackTab => {
                modifiers |= Modifiers::SHIFT;
                KeyCode::Tab
            }
            KeyCode::Char('\n') => KeyCode::Enter,
            KeyCode::Char(letter) if modifiers.contains(Modifiers::CONTROL) => {
                KeyCode::Char(letter.to_ascii_lowercase())
            }
            KeyCode::Char(letter) => {
                let letter = if modifiers.contains(Modifiers::SHIFT) {
                    letter.to_ascii_uppercase()
                } else {
                    letter
                };
                modifiers.remove(Modifiers::SHIFT);
                KeyCode::Char(letter)
            }
            other => other,
        };
        Self { code, modifiers }
    }

    /// Returns the letter that it types, if it types one.
    pub fn letter(self) -> Option<char> {
        match self.code {
            KeyCode::Char(letter) if self.modifiers.is_empty() => Some(letter),
            _ => None,
        }
    }

    /// Returns it as people read it: `Ctrl+T`, `Alt+↑`.
    pub fn shown(self) -> String {
        let mut text = String::new();
        for (modifier, name) in MODIFIERS {
            if self.modifiers.contains(modifier) {
                let mut letters = name.chars();
                text.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
                text.push_str(letters.as_str());
                text.push('+');
            }
        }
        match self.code {
            KeyCode::Left => text.push('←'),
            KeyCode::Right => text.push('→'),
            KeyCode::Up => text.push('↑'),
            KeyCode::Down => text.push('↓'),
            KeyCode::PageUp => text.push_str("PgUp"),
            KeyCode::PageDown => text.push_str("PgDn"),
            KeyCode::Char(' ') => text.push_str("Space"),
            KeyCode::Char(letter) if self.modifiers.is_empty() => text.push(letter),
            KeyCode::Char(letter) => text.push(letter.to_ascii_uppercase()),
            code => {
                let name = name_of(code);
                let mut letters = name.chars();
                text.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
                text.push_str(letters.as_str());
            }
        }
        text
    }
}

const MODIFIERS: [(Modifiers, &str); 3] = [
    (Modifiers::CONTROL, "ctrl"),
    (Modifiers::ALT, "alt"),
    (Modifiers::SHIFT, "shift"),
];

const NAMES: [(KeyCode, &str); 15] = [
    (KeyCode::Enter, "enter"),
    (KeyCode::Escape, "esc"),
    (KeyCode::Tab, "tab"),
    (KeyCode::Backspace, "backspace"),
    (KeyCode::Delete, "delete"),
    (KeyCode::Insert, "insert"),
    (KeyCode::Left, "left"),
    (KeyCode::Right, "right"),
    (KeyCode::Up, "up"),
    (KeyCode::Down, "down"),
    (KeyCode::Home, "home"),
    (KeyCode::End, "end"),
    (KeyCode::PageUp, "pageup"),
    (KeyCode::PageDown, "pagedown"),
    (KeyCode::Char(' '), "space"),
];

fn name_of(code: KeyCode) -> String {
    if let Some((_, name)) = NAMES.iter().find(|(known, _)| *known == code) {
        return (*name).to_owned();
    }
    match code {
        KeyCode::Char(letter) => letter.to_string(),
        KeyCode::Function(number) => format!("f{number}"),
        // No binding names the rest: media keys, and modifiers alone.
        _ => "unnamed".to_owned(),
    }
}

/// As `[tui.keymap]` writes it.
impl fmt::Display for KeyStroke {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (modifier, name) in MODIFIERS {
            if self.modifiers.contains(modifier) {
                write!(f, "{name}-")?;
            }
        }
        f.write_str(&name_of(self.code))
    }
}

impl FromStr for KeyStroke {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut rest = text;
        let mut modifiers = Modifiers::NONE;
        while let Some((modifier, name)) = MODIFIERS
            .into_iter()
            .find(|(_, name)| rest.starts_with(&format!("{name}-")))
        {
            modifiers |= modifier;
            rest = &rest[name.len() + 1..];
        }
        let named = NAMES
            .iter()
            .find(|(_, name)| *name == rest)
            .map(|(code, _)| *code);
        let mut letters = rest.chars();
        let letter = match (letters.next(), letters.next()) {
            (Some(letter), None) => Some(KeyCode::Char(letter)),
            _ => None,
        };
        let function = rest
            .strip_prefix('f')
            .and_then(|digits| digits.parse().ok());
        let function = function
            .filter(|number| (1..=24).contains(number))
            .map(KeyCode::Function);
        let code = named
            .or(letter)
            .or(function)
            .ok_or_else(|| format!("{text} is no key: write it like `ctrl-t`, `alt-up` or `f2`"))?;
        Ok(Self::new(code, modifiers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_and_written() {
        let cases = [
            ("ctrl-t", "Ctrl+T"),
            ("alt-up", "Alt+↑"),
            ("shift-tab", "Shift+Tab"),
            ("f12", "F12"),
            ("?", "?"),
            ("A", "A"),
            ("space", "Space"),
            ("ctrl-alt-x", "Ctrl+Alt+X"),
        ];
        for (name, shown) in cases {
            let stroke: KeyStroke = name.parse().unwrap();
            assert_eq!(stroke.to_string(), name);
            assert_eq!(stroke.shown(), shown);
        }
        assert!("ctrl-".parse::<KeyStroke>().is_err());
        assert!("f99".parse::<KeyStroke>().is_err());
    }
}
