use expect_test::{Expect, expect};

use super::SessionAddress;

#[expect(clippy::needless_pass_by_value, reason = "reads as a literal")]
fn check(text: &str, expected: Expect) {
    let shown = match text.parse::<SessionAddress>() {
        Ok(address) => address.to_string(),
        Err(error) => error.to_string(),
    };
    let shown = shown.split(';').next().unwrap_or_default();
    expected.assert_eq(shown);
}

#[test]
fn addresses_are_read_as_people_write_them() {
    check("stdio", expect!["stdio"]);
    check("unix:/run/t.sock", expect!["unix:/run/t.sock"]);
    check("tcp:127.0.0.1:7000", expect!["tcp:127.0.0.1:7000"]);
    check("ws://localhost:0/", expect!["ws:localhost:0"]);
    check("grpc:[::1]:7000", expect!["grpc:[::1]:7000"]);
}

#[test]
fn what_is_wrong_with_an_address_is_said() {
    check("somewhere", expect![[r#"address "somewhere" has no kind"#]]);
    check(
        "ftp:a:1",
        expect![[r#"address "ftp:a:1" is of no known kind"#]],
    );
    check("unix:", expect![[r#"address "unix:" has no path"#]]);
    check(
        "tcp:localhost",
        expect![[r#"address "tcp:localhost" has no port"#]],
    );
    check(
        "tcp:localhost:http",
        expect![[r#"address "tcp:localhost:http" has no valid port"#]],
    );
    check("http::80", expect![[r#"address "http::80" has no host"#]]);
    check(
        "ws:::1:80",
        expect![[r#"address "ws:::1:80" has a host with colons without brackets"#]],
    );
}
