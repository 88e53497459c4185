//! Tools that a client brings with `thread/start`, and what is wrong with them.

use std::collections::BTreeSet;

use serde_json::Value;
use troupe_protocol::tool::{DynamicTool, ToolNamespace};
use troupe_transport::rpc::RpcError;

use crate::limits::{
    DYNAMIC_TOOL_DESCRIPTION_BYTES_MAX, DYNAMIC_TOOL_NAME_BYTES_MAX, DYNAMIC_TOOL_SCHEMA_BYTES_MAX,
    DYNAMIC_TOOLS_BYTES_MAX, DYNAMIC_TOOLS_MAX,
};
use crate::wire::tool::{DynamicToolFunctionSpec, DynamicToolSpec};

/// What a client brings.
#[derive(Debug, Default)]
pub(super) struct BroughtTools {
    pub tools: Vec<DynamicTool>,
    /// What it asks for in vain.
    pub warnings: Vec<String>,
}

/// Returns the tools, or the first thing that is wrong with them. Whether a name belongs to
/// another tool is not known before the session is.
pub(super) fn brought_tools(specs: Vec<DynamicToolSpec>) -> Result<BroughtTools, RpcError> {
    let mut brought = BroughtTools::default();
    let mut names = BTreeSet::new();
    let mut bytes = 0;
    for (place, spec) in specs.into_iter().enumerate() {
        let (namespace, functions) = unfolded(place, spec)?;
        for spec in functions {
            let tool = spec.name.clone();
            let wrong = |problem: String| {
                let tool = short(&tool);
                let message = format!("dynamicTools[{place}] ({tool:?}): {problem}");
                RpcError::invalid_params(message)
            };
            let own = namespace.as_ref();
            bytes += check(&spec, own).map_err(wrong)?;
            if spec.defer_loading == Some(true) {
                let tool = short(&tool);
                brought.warnings.push(format!(
                    "deferLoading of the dynamic tool {tool:?} does nothing: every tool is offered \
                     from the start"
                ));
            }
            let tool = DynamicTool {
                namespace: namespace.clone(),
                name: spec.name,
                description: spec.description,
                input_schema: spec.input_schema,
            };
            if !names.insert(tool.offered_name()) {
                return Err(wrong("another one before it has this name".to_owned()));
            }
            if bytes > DYNAMIC_TOOLS_BYTES_MAX {
                return Err(wrong(format!(
                    "up to this one they have {bytes} bytes together, and at most \
                     {DYNAMIC_TOOLS_BYTES_MAX} are taken"
                )));
            }
            if brought.tools.len() == DYNAMIC_TOOLS_MAX {
                return Err(wrong(format!(
                    "there are more, and at most {DYNAMIC_TOOLS_MAX} are taken"
                )));
            }
            brought.tools.push(tool);
        }
    }
    Ok(brought)
}

/// Returns the functions of what is brought, and the namespace that they are in.
fn unfolded(
    place: usize,
    spec: DynamicToolSpec,
) -> Result<(Option<ToolNamespace>, Vec<DynamicToolFunctionSpec>), RpcError> {
    let spec = match spec {
        DynamicToolSpec::Function(function) => return Ok((None, vec![function])),
        DynamicToolSpec::Namespace(spec) => spec,
    };
    let wrong = |problem: String| {
        let name = short(&spec.name);
        let message = format!("dynamicTools[{place}] ({name:?}): {problem}");
        RpcError::invalid_params(message)
    };
    check_name(&spec.name).map_err(wrong)?;
    check_description(&spec.description).map_err(wrong)?;
    let namespace = ToolNamespace {
        name: spec.name,
        description: spec.description,
    };
    Ok((Some(namespace), spec.tools))
}

fn check_name(name: &str) -> Result<(), String> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.is_empty() || name.len() > DYNAMIC_TOOL_NAME_BYTES_MAX || !name.bytes().all(is_letter) {
        return Err(format!(
            "a name has 1 to {DYNAMIC_TOOL_NAME_BYTES_MAX} of the letters a-z, A-Z, 0-9, _ and -"
        ));
    }
    Ok(())
}

fn check_description(description: &str) -> Result<(), String> {
    if description.len() > DYNAMIC_TOOL_DESCRIPTION_BYTES_MAX {
        return Err(format!(
            "the description has {} bytes, and at most {DYNAMIC_TOOL_DESCRIPTION_BYTES_MAX} are \
             taken",
            description.len()
        ));
    }
    Ok(())
}

/// Returns how many bytes a tool has, or what is wrong with it.
fn check(
    spec: &DynamicToolFunctionSpec,
    namespace: Option<&ToolNamespace>,
) -> Result<usize, String> {
    check_name(&spec.name)?;
    let outer = namespace.map_or(0, |it| it.name.len() + "__".len());
    if outer + spec.name.len() > DYNAMIC_TOOL_NAME_BYTES_MAX {
        return Err(format!(
            "with its namespace the name has more than {DYNAMIC_TOOL_NAME_BYTES_MAX} letters"
        ));
    }
    check_description(&spec.description)?;
    let schema = spec.input_schema.to_string().len();
    if schema > DYNAMIC_TOOL_SCHEMA_BYTES_MAX {
        return Err(format!(
            "inputSchema has {schema} bytes, and at most {DYNAMIC_TOOL_SCHEMA_BYTES_MAX} are taken"
        ));
    }
    check_schema(&spec.input_schema)?;
    let told = namespace.map_or(0, |it| it.name.len() + it.description.len());
    Ok(told + spec.name.len() + spec.description.len() + schema)
}

/// Finds what no provider would take. The rest of a schema is between the client and the model.
fn check_schema(schema: &Value) -> Result<(), String> {
    let Value::Object(schema) = schema else {
        return Err("inputSchema is not a JSON object".to_owned());
    };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err("inputSchema.type is not \"object\", which arguments are".to_owned());
    }
    match schema.get("properties") {
        None => {}
        Some(Value::Object(properties)) => {
            let is_schema = |value: &Value| value.is_object() || value.is_boolean();
            if let Some((name, _)) = properties.iter().find(|(_, value)| !is_schema(value)) {
                let name = short(name);
                return Err(format!("inputSchema.properties.{name} is not a schema"));
            }
        }
        Some(_) => return Err("inputSchema.properties is not a JSON object".to_owned()),
    }
    let is_list_of_names = |value: &Value| {
        let names = value.as_array();
        names.is_some_and(|names| names.iter().all(Value::is_string))
    };
    match schema.get("required") {
        Some(required) if !is_list_of_names(required) => {
            Err("inputSchema.required is not a list of names".to_owned())
        }
        Some(_) | None => Ok(()),
    }
}

/// A name as far as a person needs it to find the tool.
fn short(name: &str) -> &str {
    &name[..name.floor_char_boundary(DYNAMIC_TOOL_NAME_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::brought_tools;
    use crate::limits::{DYNAMIC_TOOL_SCHEMA_BYTES_MAX, DYNAMIC_TOOLS_MAX};
    use crate::wire::tool::DynamicToolSpec;

    fn check(specs: Value, expected: &str) {
        let specs: Vec<DynamicToolSpec> = serde_json::from_value(specs).unwrap();
        match brought_tools(specs) {
            Ok(brought) => {
                let (tools, warnings) = (brought.tools.len(), brought.warnings.len());
                assert_eq!(format!("{tools} taken, {warnings} warnings"), expected);
            }
            Err(error) => assert!(error.message.contains(expected), "{}", error.message),
        }
    }

    fn tool(name: &str, schema: &Value) -> Value {
        json!({"name": name, "description": "Does it.", "inputSchema": schema})
    }

    #[test]
    fn what_is_wrong_with_a_tool_is_named() {
        let any = json!({"type": "object"});
        check(
            json!([tool("a", &any), tool("b", &json!({}))]),
            "2 taken, 0 warnings",
        );
        check(json!([tool("a", &any), tool("a", &any)]), "[1] (\"a\")");
        check(json!([tool("", &any)]), "a name has");
        check(json!([tool("a b", &any)]), "a name has");
        check(json!([tool(&"é".repeat(70), &any)]), "a name has");
        check(json!([tool("a", &json!([]))]), "not a JSON object");
        check(json!([tool("a", &json!({"type": "string"}))]), "type");
        check(json!([tool("a", &json!({"properties": []}))]), "properties");
        let number = json!({"properties": {"x": 1}});
        check(json!([tool("a", &number)]), "properties.x");
        check(json!([tool("a", &json!({"required": [1]}))]), "required");
        let long = json!({"title": "x".repeat(DYNAMIC_TOOL_SCHEMA_BYTES_MAX)});
        check(json!([tool("a", &long)]), "inputSchema has");
        let many: Vec<Value> = (0..=DYNAMIC_TOOLS_MAX)
            .map(|number| tool(&format!("t{number}"), &any))
            .collect();
        check(json!(many), "at most");
        let large = json!({"title": "x".repeat(DYNAMIC_TOOL_SCHEMA_BYTES_MAX - 100)});
        let large: Vec<Value> = (0..5)
            .map(|number| tool(&format!("t{number}"), &large))
            .collect();
        check(json!(large), "together");
        let mut later = tool("a", &any);
        later["deferLoading"] = json!(true);
        check(json!([later]), "1 taken, 1 warnings");
        let space = |name: &str, tools: Value| json!({"type": "namespace", "name": name, "description": "", "tools": tools});
        let twice = json!([tool("a", &any), space("s", json!([tool("a", &any)]))]);
        check(twice, "2 taken, 0 warnings");
        check(json!([space("s s", json!([]))]), "a name has");
        let long = space(&"n".repeat(40), json!([tool(&"t".repeat(40), &any)]));
        check(json!([long]), "with its namespace");
    }
}
