//! One line per variant, in the form in which we write it.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Declares the examples of an enum, and the test that they are complete and stay the same.
macro_rules! examples {
    ($type:ident: $($pattern:pat => $line:literal,)+) => {
        pub const LINES: &[&str] = &[$($line),+];

        /// A new variant does not compile until it has its example.
        fn example_of(value: &$type) -> &'static str {
            match value {
                $($pattern => $line,)+
            }
        }

        #[test]
        fn every_variant_round_trips() {
            for line in LINES {
                let value: $type = crate::tests::example::round_trip(line);
                assert_eq!(example_of(&value), *line, "the example of another variant");
            }
        }

        #[test]
        fn unknown_fields_are_ignored() {
            for line in LINES {
                let newer = crate::tests::example::with_unknown_field(line);
                let value: $type = serde_json::from_str(&newer).unwrap();
                assert_eq!(serde_json::to_string(&value).unwrap(), *line);
            }
        }
    };
}

/// Reads a line, and checks that writing it gives the same line.
pub fn round_trip<T: Serialize + DeserializeOwned>(line: &str) -> T {
    let value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(serde_json::to_string(&value).unwrap(), line);
    value
}

pub fn with_unknown_field(line: &str) -> String {
    let mut value: Value = serde_json::from_str(line).unwrap();
    value["from_a_newer_version"] = serde_json::json!({"nested": [1, null]});
    value.to_string()
}

/// Returns the tag of each line.
pub fn tags(lines: &[&str]) -> Vec<String> {
    let tag = |line: &&str| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["type"].as_str().unwrap().to_owned()
    };
    lines.iter().map(tag).collect()
}

/// Returns an error without the list of all that would have been right.
pub fn first_words(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(", expected one of") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
