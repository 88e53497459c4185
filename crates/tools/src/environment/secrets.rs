//! What most likely is a secret, judged by the name of a variable and by its value.

use super::matches;

/// A name that contains one of these words most likely holds a secret, or the way to one: an
/// agent's socket signs for whoever can reach it.
const SECRET_NAMES: [&str; 42] = [
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
    // Files that are nothing but credentials, or hold them beside other settings.
    "KUBECONFIG",
    "NETRC",
    "PGPASSFILE",
    "PGSERVICEFILE",
    "BOTO_CONFIG",
    "AWS_CONFIG_FILE",
    "CLOUDSDK_CONFIG",
    "DOCKER_CONFIG",
    "NPM_CONFIG_USERCONFIG",
    // Often headers with a token. All of them or none: git fails where one is missing.
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_VALUE_*",
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

/// Settings within a value (`host=db user=a password=b`, `Server=db;Pwd=b`) that are a secret.
const SECRET_SETTINGS: [&str; 15] = [
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASS",
    "PWD",
    "PW",
    "SECRET",
    "TOKEN",
    "*_TOKEN",
    "ACCESSKEY",
    "ACCOUNTKEY",
    "SHAREDACCESSKEY",
    "*API?KEY",
    "*_SECRET*",
    "*PRIVATE?KEY*",
];

/// A shorter value is a word that begins like a token.
const SECRET_LENGTH_MIN: usize = 16;

/// Beginnings of values that are nothing but a secret, as their issuers mark them.
const SECRET_PREFIXES: [&str; 14] = [
    "sk-",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "Bearer ",
    "Basic ",
    "-----BEGIN ",
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

/// Says whether a text carries a secret: an address with a password, a signed query or a secret
/// path, a connection string with a password in it, or a token that is marked as one.
pub fn holds_credentials(value: &str) -> bool {
    let is_long = value.len() >= SECRET_LENGTH_MIN;
    let is_marked = is_long && SECRET_PREFIXES.iter().any(|it| value.starts_with(it));
    is_marked || has_secret_setting(value) || is_secret_address(value)
}

fn is_secret_address(value: &str) -> bool {
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

/// Looks for `name=value` between spaces, semicolons, commas and quotes, and for names of fields
/// in JSON.
fn has_secret_setting(value: &str) -> bool {
    let separators = [' ', ';', ',', '\n', '\t', '"', '\'', '{', '}', '&', '?'];
    let is_json = value.trim_start().starts_with(['{', '[']);
    value.split(separators).any(|piece| {
        let name = match piece.split_once('=') {
            Some((name, secret)) if !secret.is_empty() => name,
            Some(_) | None if is_json => piece,
            Some(_) | None => return false,
        };
        let name = name.replace('-', "_");
        SECRET_SETTINGS.iter().any(|it| matches(it, &name))
    })
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
