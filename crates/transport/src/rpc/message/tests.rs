use expect_test::{Expect, expect};

use super::{IncomingMessage, decode};

fn check(text: &str, expected: Expect) {
    let told = match decode(text.as_bytes()) {
        Ok(IncomingMessage::Request { id, method, params }) => {
            format!("request {id} {method} {params:?}")
        }
        Ok(IncomingMessage::Notification { method, params }) => {
            format!("notification {method} {params:?}")
        }
        Ok(IncomingMessage::Response(response)) => format!("response {response:?}"),
        Err(unreadable) => {
            let id = unreadable.id.map(|id| id.to_string());
            format!("{id:?} {} {}", unreadable.error.code, unreadable.error)
        }
    };
    expected.assert_eq(&told);
}

#[test]
fn ids_are_kept_as_they_were_written() {
    check(
        r#"{"id": "a-1", "method": "m", "params": {"x": 1}}"#,
        expect![[r#"request "a-1" m Some(RawValue({"x": 1}))"#]],
    );
    check(
        r#"{"jsonrpc":"2.0","id":12345678901234567890,"method":"m"}"#,
        expect!["request 12345678901234567890 m None"],
    );
}

#[test]
fn notifications_have_no_id() {
    check(
        r#"{"method":"initialized"}"#,
        expect!["notification initialized None"],
    );
}

#[test]
fn responses_are_to_our_numbers() {
    check(
        r#"{"id":3,"result":{"decision":"accept"}}"#,
        expect![[
            r#"response RpcResponse { id: 3, outcome: Ok(Object {"decision": String("accept")}) }"#
        ]],
    );
    check(
        r#"{"id":3,"error":{"code":-1,"message":"no"}}"#,
        expect![[
            r#"response RpcResponse { id: 3, outcome: Err(RpcError { code: -1, message: "no", data: None }) }"#
        ]],
    );
    check(
        r#"{"id":"x","result":1}"#,
        expect![[r#"Some("\"x\"") -32600 this id is not one of a request that was sent"#]],
    );
}

#[test]
fn what_is_no_message_is_answered() {
    check(
        "{oops",
        expect!["None -32700 not JSON: key must be a string at line 1 column 2"],
    );
    check(
        "[]",
        expect!["None -32600 a message needs a method, or an id and a result"],
    );
    check(
        r#"{"id":[1],"method":"m"}"#,
        expect!["None -32600 the id of a request is a string or a number"],
    );
    check(
        r#"{"id":1}"#,
        expect![[r#"Some("1") -32600 a message with an id needs a method or a result"#]],
    );
    check(
        "{}",
        expect!["None -32600 a message needs a method, or an id and a result"],
    );
}
