use super::{python, schema, typescript};

/// Compares what is printed of a schema's types, without the head of the file.
fn check(defs: &str, in_typescript: &str, in_python: &str) {
    let types = schema::read(&format!(r#"{{"$defs": {defs}}}"#)).expect("it can be printed");
    let without_types = (typescript::print(&[]), python::print(&[]));
    let printed = (typescript::print(&types), python::print(&types));
    let rest = |printed: &str, head: &str| printed[head.len()..].trim().to_owned();
    assert_eq!(rest(&printed.0, &without_types.0), in_typescript);
    assert_eq!(rest(&printed.1, &without_types.1), in_python);
}

#[test]
fn a_record_says_what_may_be_absent_and_what_null() {
    check(
        r##"{"Turn": {
            "type": "object",
            "description": "What is done.",
            "properties": {
                "id": {"type": "string", "description": "Its name."},
                "error": {"anyOf": [{"$ref": "#/$defs/Error"}, {"type": "null"}]},
                "tokens": {"type": ["integer", "null"]},
                "more": true
            },
            "required": ["id", "tokens"]
        }}"##,
        "\
/** What is done. */
export type Turn = {
  /** Its name. */
  id: string;
  error?: Error | null;
  tokens: number | null;
  more?: JsonValue;
};",
        "\
class Turn(TypedDict):
    \"\"\"What is done.\"\"\"

    # Its name.
    id: str
    error: NotRequired[Union[\"Error\", None]]
    tokens: Union[int, None]
    more: NotRequired[Any]",
    );
}

#[test]
fn a_variant_is_called_after_its_tag_or_its_field() {
    check(
        r#"{"Source": {"oneOf": [
            {"type": "string", "enum": ["cli", "exec"]},
            {"type": "object", "properties": {"type": {"const": "sub-agent"}}, "required": ["type"]},
            {"type": "object", "properties": {"custom": {"type": "string"}}, "required": ["custom"]}
        ]}}"#,
        "\
export type Source =
  | \"cli\" | \"exec\"
  | {
    type: \"sub-agent\";
  }
  | {
    custom: string;
  };",
        "\
class SourceSubAgent(TypedDict):
    type: Literal[\"sub-agent\"]


class SourceCustom(TypedDict):
    custom: str


Source = Union[Literal[\"cli\", \"exec\"], \"SourceSubAgent\", \"SourceCustom\"]",
    );
}

#[test]
fn lists_and_maps_have_a_type_inside() {
    check(
        r#"{"Counts": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}}}"#,
        "export type Counts = { [key: string]: Array<number> };",
        "Counts = Dict[str, List[float]]",
    );
}

#[test]
fn what_is_no_shape_of_ours_is_refused_by_its_name() {
    let refused = |defs: &str| {
        let read = schema::read(&format!(r#"{{"$defs": {defs}}}"#));
        read.map(|_| ()).map_err(|error| format!("{error:#}"))
    };
    let number = r#"{"Version": {"properties": {"major": {"const": 2}}, "type": "object"}}"#;
    assert_eq!(
        refused(number),
        Err("Version: field major: the constant 2, which is no text".to_owned()),
    );
    assert_eq!(
        refused(r#"{"Far": {"$ref": "https://example.org/far"}}"#),
        Err("Far: a reference to https://example.org/far".to_owned()),
    );
}
