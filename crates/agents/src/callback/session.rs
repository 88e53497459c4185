//! How one session is told of its children: as configured, and over it what the session was
//! opened with.

use serde_json::{Map, Value};
use troupe_protocol::spawn::CallbackConfig;

/// The section of the configuration, as keys name it.
const SECTION: [&str; 2] = ["agents", "callback"];

/// Tells whether settings say anything of callbacks.
pub(crate) fn is_said(settings: &Map<String, Value>) -> bool {
    let [section, key] = SECTION;
    settings.iter().any(|(path, value)| {
        let mut parts = path.split('.');
        parts.next() == Some(section)
            && match parts.next() {
                Some(part) => part == key,
                None => value.get(key).is_some(),
            }
    })
}

/// Returns what `settings` make of `configured`. They were checked with all others when the
/// session was configured; what is not about callbacks is none of this.
pub(crate) fn of_session(
    configured: &CallbackConfig,
    settings: &Map<String, Value>,
) -> CallbackConfig {
    let Ok(Value::Object(mut fields)) = serde_json::to_value(configured) else {
        return configured.clone();
    };
    for (key, value) in settings {
        let mut path: Vec<&str> = key.split('.').collect();
        let mut value = value;
        // `agents = {callback = {…}}` says the same as `agents.callback.…`.
        while let Some(next) = SECTION.get(path.len()) {
            match value.get(next) {
                Some(below) => value = below,
                None => break,
            }
            path.push(next);
        }
        match (path.as_slice(), value) {
            ([first, second], Value::Object(given)) if [*first, *second] == SECTION => {
                fields.extend(given.clone());
            }
            ([first, second, field], value) if [*first, *second] == SECTION => {
                fields.insert((*field).to_owned(), value.clone());
            }
            _ => {}
        }
    }
    serde_json::from_value(Value::Object(fields)).unwrap_or_else(|_| configured.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_session_says_over_the_configuration_how_it_is_told() {
        let configured = CallbackConfig::default();
        let expected = CallbackConfig {
            include_last_message: false,
            template: Some("done".to_owned()),
            ..CallbackConfig::default()
        };
        let said = json!({"include_last_message": false, "template": "done"});
        for settings in [
            json!({"agents": {"callback": said, "max_depth": 1}}),
            json!({"agents.callback": said}),
            json!({"agents.callback.include_last_message": false,
                   "agents.callback.template": "done", "model": "m"}),
        ] {
            let Value::Object(settings) = settings else {
                unreachable!("it is written as an object")
            };
            assert_eq!(of_session(&configured, &settings), expected, "{settings:?}");
        }
        assert_eq!(of_session(&configured, &Map::new()), configured);
    }

    #[test]
    fn settings_of_other_things_say_nothing_of_callbacks() {
        let said = |settings: Value| is_said(settings.as_object().unwrap());
        assert!(said(json!({"agents": {"callback": {"enabled": false}}})));
        assert!(said(json!({"agents.callback": {"enabled": false}})));
        assert!(said(json!({"agents.callback.enabled": false})));
        assert!(!said(json!({"agents": {"max_depth": 1}, "callback": {}})));
        assert!(!said(json!({"agents.max_depth": 1, "model": "m"})));
    }
}
