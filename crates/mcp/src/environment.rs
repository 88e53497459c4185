//! The environment of a server's process: little, and nothing secret by accident.

use std::collections::BTreeMap;

/// What nearly every program needs. Keys and tokens of the user's are not among it; a server
/// that needs one names it in `env_vars`.
const BASE: &[&str] = &[
    "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ",
    "USER",
];

/// Returns all that a server's process gets, or the name of a variable that is not there.
pub(crate) fn environment(
    inherited: &BTreeMap<String, String>,
    env: &BTreeMap<String, String>,
    env_vars: &[String],
) -> Result<BTreeMap<String, String>, String> {
    let base = BASE
        .iter()
        .filter_map(|name| inherited.get_key_value(*name));
    let mut all: BTreeMap<String, String> = base
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    for name in env_vars {
        let value = inherited
            .get(name)
            .ok_or_else(|| missing("env_vars", name))?;
        all.insert(name.clone(), value.clone());
    }
    all.extend(env.clone());
    Ok(all)
}

/// Says that a variable is needed and not there.
pub(crate) fn missing(key: &str, name: &str) -> String {
    format!("the variable {name} is not set, which {key} names")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use expect_test::expect;

    use super::environment;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn a_server_gets_what_it_was_given_and_no_secrets() {
        let inherited = map(&[("PATH", "/bin"), ("OPENAI_API_KEY", "s"), ("TOKEN", "t")]);
        let all = environment(&inherited, &map(&[("PATH", "/x")]), &["TOKEN".to_owned()]);
        assert_eq!(all.unwrap(), map(&[("PATH", "/x"), ("TOKEN", "t")]));
    }

    #[test]
    fn a_variable_that_is_not_there_is_named() {
        let error = environment(&map(&[]), &map(&[]), &["TOKEN".to_owned()]).unwrap_err();
        expect!["the variable TOKEN is not set, which env_vars names"].assert_eq(&error);
    }
}
