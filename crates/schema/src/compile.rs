//! From the text of a schema to its nodes. Every keyword is understood, or the whole is
//! refused.
//!
//! Parts become nodes in the order in which they are met, and are read when their turn comes:
//! there is no recursion, however deep the text is or wherever a `$ref` leads.

use std::collections::HashMap;

use serde_json::Value;

use super::problem::{SchemaDefect, SchemaError};
use super::source::{SchemaPart, SchemaSource};
use super::{
    CountRange, JsonType, ListRule, LogicRule, NodeId, NumberBound, NumberRule, ObjectRule,
    RestRule, SchemaNode, SchemaRule, TextPattern, TextRule, exact, keywords, number, place,
};
use crate::limits::{NODES_MAX, PATTERNS_MAX};

pub(super) fn nodes(root: &Value) -> Result<Vec<SchemaNode>, SchemaError> {
    let mut compiler = SchemaCompiler {
        root,
        met: Vec::new(),
        ids: HashMap::new(),
        patterns: 0,
    };
    compiler.node(SchemaPart {
        place: String::new(),
        value: root,
    })?;
    let mut nodes: Vec<SchemaNode> = Vec::new();
    while let Some((place, value)) = compiler.met.get(nodes.len()).cloned() {
        let rules = compiler.rules(&place, value)?;
        nodes.push(SchemaNode { place, rules });
    }
    Ok(nodes)
}

struct SchemaCompiler<'v> {
    root: &'v Value,
    /// The schemas by number; those after the nodes that are done wait for their turn.
    met: Vec<(String, &'v Value)>,
    /// Their numbers by place, for those that are referred to.
    ids: HashMap<String, NodeId>,
    patterns: usize,
}

impl<'v> SchemaCompiler<'v> {
    /// Returns the number of the schema at a place, which is read later.
    fn node(&mut self, part: SchemaPart<'v>) -> Result<NodeId, SchemaError> {
        if let Some(id) = self.ids.get(&part.place) {
            return Ok(*id);
        }
        if self.met.len() == NODES_MAX {
            return Err(SchemaDefect::TooLarge.at(""));
        }
        let id = NodeId(self.met.len());
        self.ids.insert(part.place.clone(), id);
        self.met.push((part.place, part.value));
        Ok(id)
    }

    fn maybe(&mut self, part: Option<SchemaPart<'v>>) -> Result<Option<NodeId>, SchemaError> {
        part.map(|part| self.node(part)).transpose()
    }

    fn each(&mut self, parts: Vec<SchemaPart<'v>>) -> Result<Vec<NodeId>, SchemaError> {
        parts.into_iter().map(|part| self.node(part)).collect()
    }

    fn rules(&mut self, place: &str, value: &'v Value) -> Result<Vec<SchemaRule>, SchemaError> {
        let keywords = match value {
            Value::Bool(true) => return Ok(Vec::new()),
            Value::Bool(false) => return Ok(vec![SchemaRule::Never]),
            Value::Object(keywords) => keywords,
            _ => return Err(SchemaDefect::NotASchema.at(place)),
        };
        let source = SchemaSource { place, keywords };
        keywords::refuse_unknown(source)?;
        let mut rules = Vec::new();
        rules.extend(types(source)?.map(SchemaRule::Type));
        rules.extend(choices(source)?);
        rules.extend(numbers(source)?.into_iter().map(SchemaRule::Number));
        rules.extend(self.texts(source)?.into_iter().map(SchemaRule::Text));
        rules.extend(self.lists(source)?.into_iter().map(SchemaRule::List));
        rules.extend(self.objects(source)?.into_iter().map(SchemaRule::Object));
        rules.extend(self.logic(source)?.into_iter().map(SchemaRule::Logic));
        for definitions in ["$defs", "definitions"] {
            for (_, part) in source.named_parts(definitions)?.unwrap_or_default() {
                self.node(part)?;
            }
        }
        Ok(rules)
    }

    fn texts(&mut self, source: SchemaSource<'_, 'v>) -> Result<Vec<TextRule>, SchemaError> {
        let mut rules = Vec::new();
        rules.extend(
            source
                .range("minLength", "maxLength")?
                .map(TextRule::Length),
        );
        if let Some(written) = source.text("pattern")? {
            rules.push(TextRule::Pattern(self.pattern(written, source.place)?));
        }
        Ok(rules)
    }

    fn pattern(&mut self, written: &str, place: &str) -> Result<TextPattern, SchemaError> {
        self.patterns += 1;
        if self.patterns > PATTERNS_MAX {
            return Err(SchemaDefect::TooManyPatterns.at(""));
        }
        TextPattern::compile(written).map_err(|defect| defect.at(place))
    }

    fn lists(&mut self, source: SchemaSource<'_, 'v>) -> Result<Vec<ListRule>, SchemaError> {
        let mut rules = Vec::new();
        rules.extend(source.range("minItems", "maxItems")?.map(ListRule::Count));
        let prefix = self.each(source.parts("prefixItems")?.unwrap_or_default())?;
        if matches!(source.get("items"), Some(Value::Array(_))) {
            return Err(
                source.expected("items", "one schema; use `prefixItems` for a list of them")
            );
        }
        let rest = self.rest(source, "items")?;
        if !prefix.is_empty() || rest != RestRule::Anything {
            rules.push(ListRule::Items { prefix, rest });
        }
        // Without `contains` the two say nothing.
        let range = source.range("minContains", "maxContains")?;
        if let Some(node) = self.maybe(source.part("contains"))? {
            let min = match range {
                Some(range) if source.get("minContains").is_some() => range.min,
                _ => 1,
            };
            let max = range.and_then(|range| range.max);
            let range = CountRange { min, max };
            rules.push(ListRule::Contains { node, range });
        }
        if source.flag("uniqueItems")? == Some(true) {
            rules.push(ListRule::Unique);
        }
        Ok(rules)
    }

    fn objects(&mut self, source: SchemaSource<'_, 'v>) -> Result<Vec<ObjectRule>, SchemaError> {
        let mut rules = Vec::new();
        rules.extend(source.strings("required")?.map(ObjectRule::Required));
        rules.extend(self.members(source)?);
        rules.extend(
            self.maybe(source.part("propertyNames"))?
                .map(ObjectRule::Names),
        );
        let count = source.range("minProperties", "maxProperties")?;
        rules.extend(count.map(ObjectRule::Count));
        let dependent = source.string_lists("dependentRequired")?;
        rules.extend(dependent.map(ObjectRule::DependentRequired));
        Ok(rules)
    }

    fn members(&mut self, source: SchemaSource<'_, 'v>) -> Result<Option<ObjectRule>, SchemaError> {
        let named = source.named_parts("properties")?;
        let matching = source.named_parts("patternProperties")?;
        let rest = self.rest(source, "additionalProperties")?;
        if named.is_none() && matching.is_none() && rest == RestRule::Anything {
            return Ok(None);
        }
        let named = named
            .unwrap_or_default()
            .into_iter()
            .map(|(key, part)| Ok((key.to_owned(), self.node(part)?)))
            .collect::<Result<_, SchemaError>>()?;
        let matching = matching
            .unwrap_or_default()
            .into_iter()
            .map(|(written, part)| Ok((self.pattern(written, source.place)?, self.node(part)?)))
            .collect::<Result<_, SchemaError>>()?;
        Ok(Some(ObjectRule::Members {
            named,
            matching,
            rest,
        }))
    }

    fn rest(
        &mut self,
        source: SchemaSource<'_, 'v>,
        keyword: &'static str,
    ) -> Result<RestRule, SchemaError> {
        Ok(match source.part(keyword) {
            None => RestRule::Anything,
            Some(part) => match part.value {
                Value::Bool(true) => RestRule::Anything,
                Value::Bool(false) => RestRule::Nothing,
                _ => RestRule::Fitting(self.node(part)?),
            },
        })
    }

    fn logic(&mut self, source: SchemaSource<'_, 'v>) -> Result<Vec<LogicRule>, SchemaError> {
        let mut rules = Vec::new();
        if let Some(reference) = source.text("$ref")? {
            rules.push(LogicRule::Ref(self.referred(reference, source.place)?));
        }
        if let Some(parts) = source.parts("allOf")? {
            rules.push(LogicRule::AllOf(self.each(parts)?));
        }
        if let Some(parts) = source.parts("anyOf")? {
            rules.push(LogicRule::AnyOf(self.each(parts)?));
        }
        if let Some(parts) = source.parts("oneOf")? {
            rules.push(LogicRule::OneOf(self.each(parts)?));
        }
        rules.extend(self.maybe(source.part("not"))?.map(LogicRule::Not));
        let condition = self.maybe(source.part("if"))?;
        let then = self.maybe(source.part("then"))?;
        let otherwise = self.maybe(source.part("else"))?;
        rules.extend(condition.map(|condition| LogicRule::If {
            condition,
            then,
            otherwise,
        }));
        Ok(rules)
    }

    fn referred(&mut self, reference: &str, from: &str) -> Result<NodeId, SchemaError> {
        let Some(place) = place::of_reference(reference) else {
            return Err(SchemaDefect::NotLocal(reference.to_owned()).at(from));
        };
        let Some(value) = self.root.pointer(&place) else {
            return Err(SchemaDefect::NowhereToGo(reference.to_owned()).at(from));
        };
        self.node(SchemaPart { place, value })
    }
}

fn types(source: SchemaSource<'_, '_>) -> Result<Option<Vec<JsonType>>, SchemaError> {
    let Some(names) = source.type_names()? else {
        return Ok(None);
    };
    let types = names.into_iter().map(|name| {
        JsonType::named(&name).ok_or_else(|| SchemaDefect::UnknownType(name).at(source.place))
    });
    types.collect::<Result<_, _>>().map(Some)
}

fn choices(source: SchemaSource<'_, '_>) -> Result<Vec<SchemaRule>, SchemaError> {
    let listed = source.list("enum")?;
    let listed = listed.map(|values| values.iter().map(exact::text).collect());
    let single = source.get("const").map(|value| vec![exact::text(value)]);
    Ok(listed
        .into_iter()
        .chain(single)
        .map(SchemaRule::Choice)
        .collect())
}

fn numbers(source: SchemaSource<'_, '_>) -> Result<Vec<NumberRule>, SchemaError> {
    let mut rules = Vec::new();
    for bound in NumberBound::ALL {
        let limit = source.number(bound.keyword())?;
        rules.extend(limit.map(|limit| NumberRule::Bound(bound, limit.clone())));
    }
    if let Some(of) = source.number("multipleOf")? {
        if number::compare(of, &0.into()).is_le() {
            return Err(source.expected("multipleOf", "a number above 0"));
        }
        rules.push(NumberRule::MultipleOf(of.clone()));
    }
    Ok(rules)
}

impl JsonType {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }
}

impl NumberBound {
    const ALL: [Self; 4] = [
        Self::Minimum,
        Self::ExclusiveMinimum,
        Self::Maximum,
        Self::ExclusiveMaximum,
    ];

    fn keyword(self) -> &'static str {
        match self {
            Self::Minimum => "minimum",
            Self::ExclusiveMinimum => "exclusiveMinimum",
            Self::Maximum => "maximum",
            Self::ExclusiveMaximum => "exclusiveMaximum",
        }
    }
}
