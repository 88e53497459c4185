//! What most likely is a secret, judged by the name of a variable and by its value.

use super::matches;

/// A name that contains one of these words most likely holds a secret, or the way to one: an
/// agent's socket signs for whoever can reach it.
const SECRET_NAMES: [&str; 31] = [
    "*KEY*",
    "*SECRET*",
    "*TOKEN*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*PASS",
    "*_PAT",
    "*_PW",
    "*CREDENTIAL*",
    "*_PWD",
    "*CREDS",
    "*_AUTH",
    "*_AUTH_CONFIG",
    "JWT",
    "SESSION_ID",
    "*_JWT",
    "*BEARER*",
    "*COOKIE*",
    "*WEBHOOK*",
    "*DATABASE_URL*",
    "*DB_URL*",
    "*DB_URI*",
    "*MONGO*_UR?",
    "*REDIS*_UR?",
    "*_DSN",
    "*CONNECTION_STRING*",
    "*CONN_STR*",
    "*_SAS*",
    "SSH_AUTH_SOCK",
    "GPG_AGENT_INFO",
];

/// Query parameters that carry the right to call an address.
const SECRET_PARAMETERS: [&str; 10] = [
    "*KEY*",
    "*SECRET*",
    "*TOKEN*",
    "*PASSWORD*",
    "*CREDENTIAL*",
    "*SIGNATURE*",
    "SIG",
    "AUTH*",
    "CODE",
    "PWD",
];

/// Addresses whose path is the secret.
const SECRET_PATHS: [&str; 3] = ["://hooks.", "/webhooks/", "/webhook/"];

/// Says whether a variable should be kept from commands.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    has_secret_name(name) || holds_credentials(value)
}

/// Tells whether a name says that it is one of a secret.
pub fn has_secret_name(name: &str) -> bool {
    // The working directory before the last `cd` is no password.
    name != "OLDPWD" && SECRET_NAMES.iter().any(|pattern| matches(pattern, name))
}

/// Says whether a text is an address that carries a password, a signed query or a secret path.
pub fn holds_credentials(value: &str) -> bool {
    let Some((_, after_scheme)) = value.split_once("://") else {
        return false;
    };
    let authority_end = after_scheme
        .find(['/', '?', '#'])
        .unwrap_or(after_scheme.len());
    let names_user = after_scheme[..authority_end].contains('@');
    names_user
        || SECRET_PATHS.iter().any(|path| value.contains(path))
        || has_secret_parameter(after_scheme)
}

fn has_secret_parameter(address: &str) -> bool {
    let Some((_, query)) = address.split_once('?') else {
        return false;
    };
    query.split(['&', ';']).any(|parameter| {
        let name = parameter
            .split_once('=')
            .map_or(parameter, |(name, _)| name);
        SECRET_PARAMETERS
            .iter()
            .any(|pattern| matches(pattern, name))
    })
}
