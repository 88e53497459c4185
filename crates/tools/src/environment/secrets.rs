//! What most likely is a secret, judged by the name of a variable and by its value.

use super::matches;
use crate::limits::SECRET_LENGTH_MIN;

/// A name that contains one of these words most likely holds a secret, or the way to one: an
/// agent's socket signs for whoever can reach it.
const SECRET_NAMES: [&str; 49] = [
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
    "DSN",
    "AUTH",
    "AUTHORIZATION",
    "*_AUTHORIZATION",
    "*_USERPWD",
    "*_BINDPW",
    "*_BINDDN_PW",
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

/// Beginnings of words that are nothing but a secret, as their issuers mark them.
const SECRET_PREFIXES: [&str; 76] = [
    "sk-",
    "sk_live_",
    "sk_test_",
    "rk_live_",
    "rk_test_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "gldt-",
    "glrt-",
    "glptt-",
    "glft-",
    "glcbt-",
    "glsoat-",
    "glagent-",
    "xoxa-",
    "xoxb-",
    "xoxe.",
    "xoxe-",
    "xoxo-",
    "xoxp-",
    "xoxr-",
    "xoxs-",
    "xapp-",
    "AKIA",
    "ASIA",
    "AIza",
    "ya29.",
    "GOCSPX-",
    "npm_",
    "pypi-",
    "rubygems_",
    "hf_",
    "gsk_",
    "HRKU-",
    "xai-",
    "pplx-",
    "r8_",
    "dop_v1_",
    "doo_v1_",
    "dor_v1_",
    "SG.",
    "shpat_",
    "shpca_",
    "shppa_",
    "shpss_",
    "sq0atp-",
    "sq0csp-",
    "hvs.",
    "hvb.",
    "hvr.",
    "dckr_pat_",
    "dckr_oat_",
    "lin_api_",
    "figd_",
    "ntn_",
    "ATATT3",
    "ATCTT3",
    "ATBB",
    "NRAK-",
    "dapi",
    "sntrys_",
    "sntryu_",
    "sbp_",
    "nfp_",
    "tskey-",
    "ops_eyJ",
    "lsv2_",
    "PMAK-",
    "pul-",
    "AGE-SECRET-KEY-",
];

/// Headers of requests that carry a secret, with `_` for `-`.
const SECRET_HEADERS: [&str; 13] = [
    "AUTHORIZATION",
    "*_AUTHORIZATION",
    "*_AUTH",
    "*APIKEY",
    "*_KEY",
    "*TOKEN",
    "*SECRET",
    "*PASSWORD",
    "*PASSPHRASE",
    "*CREDENTIAL*",
    "*SIGNATURE",
    "COOKIE",
    "SET_COOKIE",
];

/// Words that announce one in such a header, and in settings that hold the value of it alone.
const SECRET_SCHEMES: [&str; 4] = ["BEARER", "BASIC", "TOKEN", "APIKEY"];

/// Addresses whose path is the secret.
const SECRET_PATHS: [&str; 7] = [
    "://hooks.",
    "/webhooks/",
    "/webhook/",
    "/webhookb2/",
    ".webhook.office.com/",
    "://api.telegram.org/bot",
    "://maker.ifttt.com/",
];

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
/// path, a connection string with a password in it, a header that carries one, or a token that is
/// marked as one.
pub fn holds_credentials(value: &str) -> bool {
    value.contains("-----BEGIN ")
        || has_marked_token(value)
        || has_secret_header(value)
        || has_secret_setting(value)
        || is_secret_address(value)
        || is_login_at_host(value)
        || value.split(is_separator).any(is_bot_token)
}

fn is_separator(it: char) -> bool {
    it.is_whitespace() || "\"',;=/()<>".contains(it)
}

/// Tells whether a value is an address without a scheme that begins with a name and a password, as
/// proxies and databases take it: `user:password@host:3128`, `user:password@tcp(host)/db`.
fn is_login_at_host(value: &str) -> bool {
    let Some((login, host)) = value.rsplit_once('@') else {
        return false;
    };
    let Some((user, password)) = login.split_once(':') else {
        return false;
    };
    let is_plain = |text: &str| !text.is_empty() && !text.contains([' ', '\t', '\n', '/']);
    is_plain(user)
        && is_plain(password)
        && host.starts_with(|it: char| it.is_ascii_alphanumeric() || it == '[')
        && !host.contains([' ', '\n'])
}

/// Tells whether a word is a token of a bot: a number, a colon and 35 letters.
fn is_bot_token(word: &str) -> bool {
    let word = word.strip_prefix("bot").unwrap_or(word);
    word.split_once(':').is_some_and(|(number, rest)| {
        let is_letter = |it: u8| it.is_ascii_alphanumeric() || it == b'_' || it == b'-';
        (8..=10).contains(&number.len())
            && number.bytes().all(|it| it.is_ascii_digit())
            && rest.len() == 35
            && rest.bytes().all(is_letter)
    })
}

/// Looks for tokens that say what they are, wherever they stand.
fn has_marked_token(value: &str) -> bool {
    // A directory may be called like a token begins; an address is no directory.
    let is_address = value.contains("://");
    let separators = |it: char| {
        it.is_whitespace() || "\"',;=:(){}[]<>&?".contains(it) || (is_address && it == '/')
    };
    let is_long = |word: &str| word.len() >= SECRET_LENGTH_MIN && word.contains(is_digit);
    let is_marked = |word: &str| {
        let is_prefixed = SECRET_PREFIXES.iter().any(|it| word.starts_with(it));
        is_long(word) && (is_prefixed || is_signed_token(word))
    };
    let pairs = value
        .split_whitespace()
        .zip(value.split_whitespace().skip(1));
    let mut announced = pairs.filter(|(scheme, _)| {
        // Behind the name that the setting or header has.
        let scheme = scheme
            .rsplit(['=', ':', '"', '\''])
            .next()
            .unwrap_or(scheme);
        let mut schemes = SECRET_SCHEMES.iter();
        schemes.any(|it| it.eq_ignore_ascii_case(scheme))
    });
    // Words of a sentence are letters and no more.
    let is_said = |word: &str| {
        word.len() >= SECRET_LENGTH_MIN && (value.starts_with("Bearer ") || is_long(word))
    };
    value.split(separators).any(is_marked) || announced.any(|(_, word)| is_said(word))
}

fn is_digit(it: char) -> bool {
    it.is_ascii_digit()
}

/// Tells whether a word is a JSON Web Token: three parts, of which the first begins an object.
fn is_signed_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.split('.').count() >= 3
}

/// Looks for `Name: value`, as the command line of a client or a setting for one has it.
fn has_secret_header(value: &str) -> bool {
    let ends = ['\n', '\r', '"', '\'', ';', ',', '|'];
    value.split(ends).any(|piece| {
        let Some((name, secret)) = piece.split_once(':') else {
            return false;
        };
        let name = name.split([' ', '\t', '=']).next_back();
        let name = name.unwrap_or_default().replace('-', "_");
        // An address has a scheme there.
        let is_value = !secret.trim().is_empty() && !secret.starts_with("//");
        let is_name = name
            .bytes()
            .all(|it| it.is_ascii_alphanumeric() || it == b'_');
        is_value && is_name && SECRET_HEADERS.iter().any(|it| matches(it, &name))
    })
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
