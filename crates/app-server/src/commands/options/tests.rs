use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::CommandOptions;

fn check(params: Value, expected: Expect) {
    let params = serde_json::from_value(params).unwrap();
    let told = match CommandOptions::check(params) {
        Err(error) => error.message,
        Ok(wish) => {
            let time = wish.time_max;
            let (terminal, bytes) = (wish.terminal, wish.output_bytes_max);
            format!("{time:?} {bytes} {terminal:?}")
        }
    };
    expected.assert_eq(&told);
}

#[test]
fn what_is_not_said_is_bounded() {
    check(
        json!({"command": ["true"]}),
        expect!["Some(10s) 1048576 None"],
    );
}

#[test]
fn bounds_can_be_taken_away() {
    let all = json!({"command": ["true"], "disableTimeout": true, "disableOutputCap": true});
    check(all, expect!["None 16777216 None"]);
    let streamed = json!({"command": ["true"], "processId": "1", "streamStdoutStderr": true,
        "disableOutputCap": true, "timeoutMs": 5});
    check(streamed, expect!["Some(5ms) 18446744073709551615 None"]);
}

#[test]
fn contradictions_are_named() {
    check(
        json!({"command": []}),
        expect!["invalid params: command must not be empty"],
    );
    check(
        json!({"command": ["cat"], "tty": true}),
        expect!["invalid params: tty, streamStdin and streamStdoutStderr require a processId"],
    );
    check(
        json!({"command": ["cat"], "size": {"rows": 1, "cols": 1}}),
        expect!["invalid params: size requires tty"],
    );
    check(
        json!({"command": ["cat"], "processId": "1", "tty": true, "size": {"rows": 0, "cols": 1}}),
        expect!["invalid params: size: rows and cols must be greater than 0"],
    );
    check(
        json!({"command": ["cat"], "timeoutMs": 1, "disableTimeout": true}),
        expect!["invalid params: timeoutMs and disableTimeout exclude each other"],
    );
    check(
        json!({"command": ["cat"], "timeoutMs": -1}),
        expect!["invalid params: timeoutMs must not be negative"],
    );
    check(
        json!({"command": ["cat"], "outputBytesCap": 1, "disableOutputCap": true}),
        expect!["invalid params: outputBytesCap and disableOutputCap exclude each other"],
    );
}
