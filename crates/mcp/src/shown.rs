//! What may be shown of where a server is: no passwords, tokens and values of queries.

use troupe_tools::{has_secret_name, holds_credentials};

use crate::config::ServerEndpoint;

/// Stands for what is nobody's business.
const HIDDEN: &str = "\u{2026}";

impl ServerEndpoint {
    /// Returns the words of the command line, or the address, without secrets.
    pub fn shown(&self) -> Vec<String> {
        match self {
            Self::Stdio { command, args, .. } => words(std::iter::once(command).chain(args)),
            Self::Http { url, .. } => vec![address(url)],
        }
    }
}

/// Leaves out who logs in, the values of a query, and a path that is a secret itself.
pub(crate) fn address(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return url.to_owned();
    };
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let (place, query) = match rest.split_once('?') {
        Some((place, query)) => (place, Some(query)),
        None => (rest, None),
    };
    let (authority, path) = match place.find('/') {
        Some(at) => place.split_at(at),
        None => (place, ""),
    };
    let (user, host) = match authority.rsplit_once('@') {
        Some((_, host)) => (format!("{HIDDEN}@"), host),
        None => (String::new(), authority),
    };
    let mut shown = format!("{scheme}://{user}{host}");
    if holds_credentials(&format!("{scheme}://{host}{path}")) {
        shown.push('/');
        shown.push_str(HIDDEN);
    } else {
        shown.push_str(path);
    }
    if let Some(query) = query {
        let hidden = |pair: &str| match pair.split_once('=') {
            Some((name, _)) => format!("{name}={HIDDEN}"),
            None => HIDDEN.to_owned(),
        };
        let pairs: Vec<String> = query.split('&').map(hidden).collect();
        shown.push('?');
        shown.push_str(&pairs.join("&"));
    }
    shown
}

/// Hides the values of settings and options that are called like secrets.
fn words<'a>(words: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut is_announced = false;
    words
        .map(|word| {
            if std::mem::take(&mut is_announced) {
                return HIDDEN.to_owned();
            }
            let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
            let plain = name.trim_start_matches('-').replace('-', "_");
            if !has_secret_name(&plain.to_uppercase()) {
                return if word.contains("://") {
                    address(word)
                } else if holds_credentials(word) {
                    HIDDEN.to_owned()
                } else {
                    word.clone()
                };
            }
            if name.len() < word.len() {
                return format!("{name}={HIDDEN}");
            }
            is_announced = word.starts_with('-');
            word.clone()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_secret_is_shown_of_an_address() {
        for (url, shown) in [
            ("https://h/mcp", "https://h/mcp"),
            (
                "http://h:8/x?token=abc&k=d#e",
                "http://h:8/x?token=\u{2026}&k=\u{2026}",
            ),
            ("http://u:p@ss@h/x", "http://\u{2026}@h/x"),
            ("http://h?abc", "http://h?\u{2026}"),
            (
                "https://hooks.slack.com/services/T1/B2/abc",
                "https://hooks.slack.com/\u{2026}",
            ),
        ] {
            assert_eq!(address(url), shown);
        }
    }

    #[test]
    fn nothing_that_is_secret_is_shown_of_a_command() {
        let shown = |line: &str| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            words(line.iter()).join(" ")
        };
        assert_eq!(
            shown("n --token abc --api-key=def postgres://u:ghi@h/d -e API_KEY=jkl serve"),
            "n --token \u{2026} --api-key=\u{2026} postgres://\u{2026}@h/d -e API_KEY=\u{2026} serve"
        );
    }
}
