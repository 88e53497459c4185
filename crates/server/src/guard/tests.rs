use expect_test::{Expect, expect};
use http::{HeaderMap, HeaderValue, Uri};

use super::OriginGuard;

#[expect(clippy::needless_pass_by_value, reason = "reads as a literal")]
fn check(host: &str, origin: Option<&str>, expected: Expect) {
    let guard = OriginGuard {
        hosts: vec!["build.example".to_owned()],
        origins: vec!["https://ui.example".to_owned()],
    };
    let mut headers = HeaderMap::new();
    if !host.is_empty() {
        headers.insert("host", HeaderValue::from_str(host).unwrap());
    }
    if let Some(origin) = origin {
        headers.insert("origin", HeaderValue::from_str(origin).unwrap());
    }
    let shown = match guard.check(&Uri::from_static("/v1/events"), &headers) {
        Ok(()) => "may".to_owned(),
        Err(foreign) => foreign.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_request_is_addressed_to_a_name_of_ours() {
    check("localhost:7000", None, expect!["may"]);
    check("127.0.0.1", None, expect!["may"]);
    check("[::1]:7000", None, expect!["may"]);
    check("Build.Example:80", None, expect!["may"]);
    check(
        "rebound.example:7000",
        None,
        expect![[
            r#"host "rebound.example" is not a name of this server; allow it with --allow-host"#
        ]],
    );
    check(
        "",
        None,
        expect!["the request is addressed to no host; send a Host header"],
    );
}

#[test]
fn a_page_is_one_of_ours() {
    check(
        "localhost:7000",
        Some("http://localhost:7000"),
        expect!["may"],
    );
    check("localhost:7000", Some("https://ui.example"), expect!["may"]);
    check(
        "localhost:7000",
        Some("http://localhost:8000"),
        expect![[r#"origin "http://localhost:8000" is not allowed; allow it with --allow-origin"#]],
    );
    check(
        "localhost:7000",
        Some("null"),
        expect![[r#"origin "null" is not allowed; allow it with --allow-origin"#]],
    );
}
