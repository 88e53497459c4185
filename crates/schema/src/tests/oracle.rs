//! Our verdict is that of a validator which knows the whole standard.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const KEYS: &[&str] = &["a", "b", "ab", "c"];
const PATTERNS: &[&str] = &[
    "^a", "b$", "^[ab]+$", r"\d", "^.b", r"^\w*$", r"\S\s", "é|1",
];

fn numbers() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![
        4 => (-3..7_i64).prop_map(Value::from),
        2 => (-6..12_i32).prop_map(|half| json!(f64::from(half) / 2.0)),
        2 => (-9..20_i32).prop_map(|tenth| json!(f64::from(tenth) / 10.0)),
        1 => select(vec![
            json!(u64::MAX),
            json!(u64::MAX - 1),
            json!(i64::MIN),
            json!(9_007_199_254_740_993_i64),
            json!(9_007_199_254_740_992.0),
            // A multiple of all the divisors below: of numbers this large the other knows no remainder.
            json!(1.5e300),
        ]),
    ]
}

fn texts() -> impl Strategy<Value = String> + Clone {
    "[ab1é ]{0,4}"
}

fn values() -> impl Strategy<Value = Value> + Clone {
    let simple = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        numbers(),
        texts().prop_map(Value::from),
    ];
    simple.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(select(KEYS), inner, 0..4)
                .prop_map(|members| json!(members)),
        ]
    })
}

fn keys() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::btree_set(select(KEYS), 0..3).prop_map(|keys| keys.into_iter().collect())
}

/// One keyword that needs no other schema.
fn simple_keyword() -> impl Strategy<Value = (&'static str, Value)> {
    let types = select(vec![
        "null", "boolean", "integer", "number", "string", "array", "object",
    ]);
    let divisors = select(vec![
        json!(1),
        json!(2),
        json!(3),
        json!(0.5),
        json!(0.1),
        json!(2.0),
    ]);
    let counts = prop_oneof![(0..4_u64).prop_map(Value::from), Just(json!(2.0))];
    prop_oneof![
        3 => prop_oneof![
            types.clone().prop_map(Value::from),
            prop::collection::btree_set(types, 1..4).prop_map(|types| json!(types)),
        ].prop_map(|types| ("type", types)),
        1 => prop::collection::vec(values(), 1..4).prop_map(|all| ("enum", json!(all))),
        1 => values().prop_map(|value| ("const", value)),
        2 => (
            select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]),
            numbers(),
        ),
        1 => divisors.prop_map(|of| ("multipleOf", of)),
        2 => (
            select(vec![
                "minLength", "maxLength", "minItems", "maxItems", "minProperties",
                "maxProperties", "minContains", "maxContains",
            ]),
            counts,
        ),
        1 => select(PATTERNS).prop_map(|pattern| ("pattern", json!(pattern))),
        1 => any::<bool>().prop_map(|unique| ("uniqueItems", json!(unique))),
        1 => keys().prop_map(|keys| ("required", json!(keys))),
        1 => (select(KEYS), keys())
            .prop_map(|(key, keys)| ("dependentRequired", json!({key: keys}))),
        1 => select(vec!["#", "#/$defs/one", "#/definitions/two"])
            .prop_map(|reference| ("$ref", json!(reference))),
        1 => Just(("description", json!("says nothing"))),
    ]
}

/// One keyword that is about other schemas.
fn wide_keyword(
    inner: impl Strategy<Value = Value> + Clone + 'static,
) -> impl Strategy<Value = (&'static str, Value)> {
    let one = select(vec![
        "items",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "additionalProperties",
        "propertyNames",
    ]);
    let many = select(vec!["anyOf", "oneOf", "allOf", "prefixItems"]);
    prop_oneof![
        2 => (one, inner.clone()),
        2 => (many, prop::collection::vec(inner.clone(), 1..4).prop_map(Value::from)),
        3 => prop::collection::btree_map(select(KEYS), inner.clone(), 1..4)
            .prop_map(|members| ("properties", json!(members))),
        1 => prop::collection::btree_map(select(PATTERNS), inner, 1..3)
            .prop_map(|members| ("patternProperties", json!(members))),
    ]
}

fn schemas() -> impl Strategy<Value = Value> {
    let object = |keywords: Vec<(&'static str, Value)>| {
        let keywords = keywords
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        Value::Object(keywords.collect())
    };
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Value::from),
        9 => prop::collection::vec(simple_keyword(), 1..3).prop_map(object),
    ];
    leaf.prop_recursive(3, 16, 3, move |inner| {
        let keyword = prop_oneof![
            1 => simple_keyword(),
            3 => wide_keyword(inner),
        ];
        prop::collection::vec(keyword, 1..4).prop_map(object)
    })
}

/// A schema whose references lead somewhere.
fn documents() -> impl Strategy<Value = Value> {
    (schemas(), schemas(), schemas()).prop_map(|(root, one, two)| {
        let mut root = match root {
            Value::Object(_) => root,
            other => json!({"allOf": [other]}),
        };
        root["$defs"] = json!({"one": one});
        root["definitions"] = json!({"two": two});
        root
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 20_000, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn both_agree(schema in documents(), values in prop::collection::vec(values(), 12)) {
        let ours = match AnswerSchema::understand(&schema) {
            // What never ends has no verdict.
            Err(SchemaError { defect: SchemaDefect::Endless, .. }) => {
                return Err(TestCaseError::reject("endless"));
            }
            ours => ours.map_err(|error| TestCaseError::fail(format!("{error}: {schema}")))?,
        };
        let theirs = jsonschema::draft202012::new(&schema)
            .map_err(|error| TestCaseError::fail(format!("{error}: {schema}")))?;
        let is_possible = AnswerSchema::compile(&schema).is_ok();
        for value in values {
            let problems = ours.check(&value, 20);
            prop_assert!(is_possible || !problems.is_empty(), "{} fits {}", value, schema);
            prop_assert_eq!(
                problems.is_empty(),
                theirs.is_valid(&value),
                "{} and {}: {:?}",
                schema,
                value,
                problems
            );
        }
    }
}
