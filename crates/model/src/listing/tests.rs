use expect_test::{Expect, expect};

use super::*;

fn check(body: &str, expected: &Expect) {
    let shown = match parse(body) {
        Ok(models) => models
            .iter()
            .map(|model| serde_json::to_string(model).unwrap() + "\n")
            .collect(),
        Err(message) => format!("error: {message}\n"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn what_a_server_leaves_out_comes_from_the_catalogue() {
    check(
        r#"{"object":"list","data":[{"id":"gpt-5.1-2025-11-13","object":"model","created":1,"owned_by":"x"},{"id":"mine"}]}"#,
        &expect![[r#"
            {"model":"gpt-5.1-2025-11-13","context_window":272000,"max_output":128000,"efforts":["none","low","medium","high"],"default_effort":"none","images":true}
            {"model":"mine"}
        "#]],
    );
}

#[test]
fn servers_tell_the_context_window_in_their_own_words() {
    check(
        r#"{"data":[
            {"id":"vllm","max_model_len":32768},
            {"id":"gateway","context_length":200000,"pricing":{}},
            {"id":"other","context_window":1000},
            {"id":"claude-new","max_input_tokens":900000},
            {"id":"llama","meta":{"n_ctx_train":131072,"n_ctx":4096}},
            {"id":"zero","max_model_len":0}
        ]}"#,
        &expect![[r#"
            {"model":"vllm","context_window":32768}
            {"model":"gateway","context_window":200000}
            {"model":"other","context_window":1000}
            {"model":"claude-new","context_window":900000}
            {"model":"llama","context_window":4096}
            {"model":"zero"}
        "#]],
    );
}

#[test]
fn an_answer_of_another_kind_is_told() {
    check(
        "<html>",
        &expect![[r#"
        error: the answer is not a list of models: expected value at line 1 column 1
    "#]],
    );
    check(
        r#"{"models":[]}"#,
        &expect![[r#"
        error: the answer is not a list of models: missing field `data` at line 1 column 13
    "#]],
    );
    check(r#"{"data":[]}"#, &expect![[r#""#]]);
}
