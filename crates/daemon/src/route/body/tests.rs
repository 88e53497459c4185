use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Outer {
    prompt: String,
    enable_callback: Option<bool>,
    callback_config: Option<Inner>,
    output_schema: Option<Value>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Inner {
    include_last_message: Option<bool>,
}

fn read(body: &Value) -> Result<Outer, Problem> {
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CONTENT_TYPE,
        "application/json; charset=utf-8".parse().unwrap(),
    );
    read_body(
        &headers,
        body.to_string().as_bytes(),
        &KnownMembers::of::<Outer>(),
    )
}

#[test]
fn both_spellings_are_read_and_what_is_free_is_left_as_it_is() {
    let expected = Outer {
        prompt: "go".to_owned(),
        enable_callback: Some(true),
        callback_config: Some(Inner {
            include_last_message: Some(false),
        }),
        output_schema: Some(json!({"properties": {"camelCase": {}}})),
    };
    let schema = json!({"properties": {"camelCase": {}}});
    let camel = json!({"prompt": "go", "enableCallback": true,
        "callbackConfig": {"includeLastMessage": false}, "outputSchema": schema});
    let snake = json!({"prompt": "go", "enable_callback": true,
        "callback_config": {"include_last_message": false}, "output_schema": schema});
    assert_eq!(read(&camel).unwrap(), expected);
    assert_eq!(read(&snake).unwrap(), expected);
}

#[test]
fn what_is_not_known_is_refused_by_its_name() {
    let problem = read(&json!({"prompt": "go", "promt": 1})).unwrap_err();
    assert_eq!((problem.status, problem.code), (400, "unknown_member"));
    assert_eq!(problem.field.as_deref(), Some("promt"));
    assert!(
        problem.allowed.contains(&"prompt".to_owned()),
        "{problem:?}"
    );
    let problem = read(&json!({"prompt": "go", "callback_config": {"enable": 1}})).unwrap_err();
    assert_eq!(problem.field.as_deref(), Some("callback_config.enable"));
    let problem = read(&json!({"prompt": "a", "enable_callback": true, "enableCallback": false}));
    assert_eq!(problem.unwrap_err().code, "bad_member");
}

#[test]
fn a_value_of_the_wrong_kind_is_refused_with_its_place() {
    let problem = read(&json!({"prompt": 3})).unwrap_err();
    assert_eq!(
        (problem.code, problem.field.as_deref()),
        ("bad_member", Some("prompt"))
    );
    let problem = read(&json!([])).unwrap_err();
    assert_eq!(problem.code, "bad_json");
}

#[test]
fn a_body_of_another_kind_is_refused() {
    let known = KnownMembers::of::<Outer>();
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, "text/plain".parse().unwrap());
    let refused = read_body::<Outer>(&headers, b"{\"prompt\":\"go\"}", &known).unwrap_err();
    assert_eq!(refused.status, 415);
}
