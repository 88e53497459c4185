use expect_test::{Expect, expect};

use super::*;

const USER: [(&str, &str); 7] = [
    ("EDITOR", "vi"),
    ("GITHUB_TOKEN", "t"),
    ("HOME", "/home/u"),
    ("MY_PROVIDER", "k"),
    ("NODE_OPTIONS", "-x"),
    ("OPENAI_API_KEY", "k"),
    ("PATH", "/bin"),
];

/// Shows which of the user's variables come through, without what is added to all.
fn check(policy: &str, expect: Expect) {
    let policy: EnvironmentPolicy = serde_json::from_str(policy).unwrap();
    let inherited = owned(&USER);
    let result = policy.apply(&inherited, &["MY_PROVIDER".to_owned()]);
    let shown: Vec<String> = result
        .iter()
        .filter(|(name, value)| !FIXED.contains(&(name.as_str(), value.as_str())))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    expect.assert_eq(&shown.join(" "));
}

fn owned(pairs: &[(&str, &str)]) -> Variables {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    pairs.iter().map(own).collect()
}

#[test]
fn secrets_are_dropped_unless_kept_on_purpose() {
    check(
        "{}",
        expect!["EDITOR=vi HOME=/home/u NODE_OPTIONS=-x PATH=/bin"],
    );
    check(
        r#"{"ignore_default_excludes": true}"#,
        expect!["EDITOR=vi GITHUB_TOKEN=t HOME=/home/u NODE_OPTIONS=-x OPENAI_API_KEY=k PATH=/bin"],
    );
}

/// Shows which of these variables reach a command.
fn kept(variables: &[(&str, &str)]) -> Vec<String> {
    let all = EnvironmentPolicy::default().apply(&owned(variables), &[]);
    let is_ours = |name: &str| FIXED.iter().any(|(fixed, _)| *fixed == name);
    all.into_keys().filter(|name| !is_ours(name)).collect()
}

#[test]
fn passwords_of_databases_agents_and_webhooks_are_dropped() {
    let secret = [
        ("DATABASE_URL", "postgres:///db"),
        ("GPG_AGENT_INFO", "/run/gpg:1"),
        ("MYSQL_PWD", "p"),
        ("REDISCLI_AUTH", "p"),
        ("SENTRY_DSN", "x"),
        ("SLACK_WEBHOOK", "x"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("SMTP_PASS", "p"),
    ];
    assert_eq!(kept(&secret), [""; 0]);
    let harmless = [("BYPASS_CACHE", "1"), ("OLDPWD", "/a"), ("PWD", "/b")];
    assert_eq!(kept(&harmless), ["BYPASS_CACHE", "OLDPWD", "PWD"]);
}

#[test]
fn addresses_with_credentials_are_dropped_whatever_their_name() {
    let secret = [
        ("HTTPS_PROXY", "http://user:pass@proxy:3128"),
        ("NOTIFY", "https://hooks.example/services/T0/B0/x"),
        ("PIP_INDEX_URL", "https://u:p@index/simple"),
        ("UPLOAD", "https://h/container?sv=1&sig=abc"),
    ];
    assert_eq!(kept(&secret), [""; 0]);
    let without_scheme = [
        ("HTTP_PROXY", "u:p@proxy:3128"),
        ("RSYNC_PROXY", "user:pw@h:80"),
        ("PROXY_USERPWD", "u:p"),
        ("DSN", "user:pass@tcp(127.0.0.1:3306)/db"),
        ("PLACE", "user:pa55@host:5432/db"),
        ("LDAP_BINDPW", "p"),
        ("AUTH", "Basic dXNlcjpwYXNz"),
        ("AUTHORIZATION", "Bearer abcdef"),
        ("TEAMS", "https://x.webhook.office.com/webhookb2/a/b"),
        ("NOTICES", "https://api.telegram.org/bot123456:ABC/send"),
        ("RUN_THIS", "https://maker.ifttt.com/trigger/x/with/k"),
        ("BOT", "123456789:AAEabcdefghijklmnopqrstuvwxyz012345"),
        ("DYNO", "HRKU-01234567-89ab-cdef"),
    ];
    assert_eq!(kept(&without_scheme), [""; 0]);
    let harmless = [
        ("HOST_AND_PORT", "localhost:3128"),
        ("HTTP_PROXY", "http://proxy:3128"),
        ("IMAGE", "registry.example:5000/a/b@sha256:0a1b"),
        ("PEER", "somebody@host:22"),
        ("MAIL", "somebody@example"),
        ("PAGE", "https://h/a@b?page=2"),
    ];
    let names = [
        "HOST_AND_PORT",
        "HTTP_PROXY",
        "IMAGE",
        "MAIL",
        "PAGE",
        "PEER",
    ];
    assert_eq!(kept(&harmless), names);
}

#[test]
fn connection_strings_tokens_and_files_of_credentials_are_dropped_whatever_their_name() {
    let secrets = [
        ("PLAIN", "host=db user=a password=b"),
        ("SERVER", "Server=db;Uid=a;Pwd=b;"),
        (
            "BUS",
            "Endpoint=sb://x/;SharedAccessKeyName=n;SharedAccessKey=k",
        ),
        ("SETTINGS", "{\"user\": \"a\", \"password\": \"b\"}"),
        ("ACCOUNT", "{\"type\": \"service\", \"private_key\": \"k\"}"),
        ("OPTIONS", "--api-key=abc --verbose"),
        ("VALUE", "ghp_0123456789abcdefghij"),
        ("HEADER", "Bearer abcdefghijklmnop"),
        ("KUBECONFIG", "/home/u/.kube/config"),
        ("PGPASSFILE", "/home/u/.pgpass"),
        ("NETRC", "/home/u/.netrc"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "http.extraHeader"),
        ("GIT_CONFIG_VALUE_0", "Authorization: Basic abc"),
    ];
    assert_eq!(kept(&secrets), Vec::<String>::new());
    let harmless = [
        ("LANGUAGE", "sk-SK"),
        ("LS_COLORS", "rs=0:di=01;34:ln=01;36:*.tar=01;31"),
        ("RUSTFLAGS", "-C target-cpu=native --cfg feature=\"x\""),
        ("MAKEFLAGS", "-j8 V=1"),
        ("LESS", "-R"),
        ("NOTE", "the password is elsewhere"),
        ("EMPTY", "password="),
    ];
    let names: Vec<String> = harmless
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    let mut found = kept(&harmless);
    found.sort();
    let mut names = names;
    names.sort();
    assert_eq!(found, names);
}

#[test]
fn inheritance_has_three_sizes() {
    check(r#"{"inherit": "core"}"#, expect!["HOME=/home/u PATH=/bin"]);
    check(r#"{"inherit": "none"}"#, expect![""]);
}

#[test]
fn patterns_drop_set_and_keep() {
    check(
        r#"{"exclude": ["node_*", "E?ITOR"]}"#,
        expect!["HOME=/home/u PATH=/bin"],
    );
    check(
        r#"{"inherit": "none", "set": {"CI": "1", "TERM": "xterm", "API_KEY": "mine"}}"#,
        expect!["API_KEY=mine CI=1 TERM=xterm"],
    );
    check(
        r#"{"set": {"CI": "1"}, "include_only": ["PATH", "C*"]}"#,
        expect!["CI=1 PATH=/bin"],
    );
}

#[test]
fn commands_are_told_about_their_sandbox() {
    let told = |policy| {
        sandbox_variables(policy)
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let confined = SandboxPolicy::workspace_write();
    let online = SandboxPolicy::ReadOnly {
        network_access: true,
    };
    expect!["TROUPE_SANDBOX=workspace-write TROUPE_SANDBOX_NETWORK_DISABLED=1"]
        .assert_eq(&told(Some(&confined)));
    expect!["TROUPE_SANDBOX=read-only"].assert_eq(&told(Some(&online)));
    expect![""].assert_eq(&told(None));
    expect![""].assert_eq(&told(Some(&SandboxPolicy::DangerFullAccess)));
}

#[test]
fn a_pattern_of_stars_is_not_slow() {
    assert!(!matches(&"*a".repeat(500), &"a".repeat(499)));
    assert!(matches(&"*a".repeat(500), &"a".repeat(500)));
    assert!(matches("", ""));
    assert!(!matches("", "x"));
    assert!(matches("***", "x"));
}

#[test]
fn headers_with_credentials_are_dropped_whatever_their_name() {
    let secret = [
        ("A", "Authorization: Bearer abc"),
        ("B", "X-Api-Key: abc"),
        ("C", "-H 'PRIVATE-TOKEN: abc'"),
        ("D", "Accept: text/plain\nCookie: session=1"),
        ("E", "x-signature=1,proxy-authorization: x"),
        ("F", "api-key: abc"),
        ("G", "bearer 0123456789abcdef"),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Basic 0123456789abcdef",
        ),
    ];
    assert_eq!(kept(&secret), [""; 0]);
    let harmless = [
        ("A", "Accept: text/plain"),
        ("B", "monkey:banana"),
        ("C", "tokens are words"),
        ("D", "key://x"),
        ("LS_COLORS", "rs=0:di=01;34:*.key=00"),
        ("LESS", "-R basic colours"),
    ];
    assert_eq!(kept(&harmless), ["A", "B", "C", "D", "LESS", "LS_COLORS"]);
}

#[test]
fn tokens_that_say_what_they_are_are_dropped_wherever_they_stand() {
    let rest = "0123456789abcdefghij";
    for prefix in [
        "ghp_",
        "ghr_",
        "glpat-",
        "gldt-",
        "npm_",
        "pypi-",
        "hf_",
        "xapp-",
        "sk_live_",
        "AIza",
        "hvs.",
        "dckr_pat_",
        "eyJhbGciOi.eyJzdWIi.",
    ] {
        let token = format!("{prefix}{rest}");
        for value in [
            token.clone(),
            format!("--header x={token}"),
            format!("{{\"a\": \"{token}\"}}"),
        ] {
            assert_eq!(kept(&[("A", value.as_str())]), [""; 0], "{value}");
        }
    }
    let harmless = [
        ("A", "npm_config"),
        ("B", "sk-learn"),
        ("C", "/usr/share/dapi"),
        ("D", "/opt/secret:/opt/token/npm_modules_of_2026"),
    ];
    assert_eq!(kept(&harmless), ["A", "B", "C", "D"]);
}
