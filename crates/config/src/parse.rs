//! TOML text → entries with their lines.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::entry::{ConfigEntry, ConfigValue, Table, ValueLayer, ValueOrigin, ValuePlace};
use crate::error::SyntaxError;

/// A text with what is needed to say where something stands in it.
struct SourceText<'a> {
    text: &'a str,
    layer: ValueLayer,
    path: Option<Arc<Path>>,
    /// Byte offsets at which lines begin.
    line_starts: Vec<usize>,
}

pub fn parse_file(text: &str, layer: ValueLayer, path: &Path) -> Result<ConfigEntry, SyntaxError> {
    parse(text, layer, Some(path))
}

pub fn parse_defaults(text: &str) -> Result<ConfigEntry, SyntaxError> {
    parse(text, ValueLayer::Defaults, None)
}

fn parse(text: &str, layer: ValueLayer, path: Option<&Path>) -> Result<ConfigEntry, SyntaxError> {
    let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let source = SourceText {
        text,
        layer,
        path: path.map(Arc::from),
        line_starts: std::iter::once(0)
            .chain(newlines.map(|(offset, _)| offset + 1))
            .collect(),
    };
    let table = DeTable::parse(text).map_err(|error| {
        source.error(error.span().unwrap_or_default(), error.message().to_owned())
    })?;
    let table = convert_table(table.into_inner(), &|span| source.origin(span))
        .map_err(|unfit| source.error(unfit.span, "the number does not fit 64 bits".to_owned()))?;
    Ok(ConfigEntry {
        origin: source.origin(0..0),
        value: ConfigValue::Table(table),
    })
}

/// A number that TOML allows and we cannot hold.
pub struct UnfitNumber {
    pub span: Range<usize>,
}

/// Converts a parsed value; `origin` tells where a span stands.
pub fn convert(
    value: Spanned<DeValue<'_>>,
    origin: &impl Fn(Range<usize>) -> ValueOrigin,
) -> Result<ConfigValue, UnfitNumber> {
    let span = value.span();
    Ok(match value.into_inner() {
        DeValue::String(text) => ConfigValue::String(text.into_owned()),
        DeValue::Boolean(flag) => ConfigValue::Boolean(flag),
        DeValue::Datetime(time) => ConfigValue::Datetime(time),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(ConfigValue::Integer)
            .map_err(|_| UnfitNumber { span })?,
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map(ConfigValue::Float)
            .map_err(|_| UnfitNumber { span })?,
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| {
                Ok(ConfigEntry {
                    origin: origin(item.span()),
                    value: convert(item, origin)?,
                })
            });
            ConfigValue::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => ConfigValue::Table(convert_table(table, origin)?),
    })
}

fn convert_table(
    table: DeTable<'_>,
    origin: &impl Fn(Range<usize>) -> ValueOrigin,
) -> Result<Table, UnfitNumber> {
    table
        .into_iter()
        .map(|(key, value)| {
            let entry = ConfigEntry {
                // The line of the key is what people look for, also when a value spans lines.
                origin: origin(key.span()),
                value: convert(value, origin)?,
            };
            Ok((key.into_inner().into_owned(), entry))
        })
        .collect()
}

impl SourceText<'_> {
    fn origin(&self, span: Range<usize>) -> ValueOrigin {
        let place = match &self.path {
            None => ValuePlace::BuiltIn,
            Some(path) => ValuePlace::File {
                path: path.clone(),
                line: self.line(span.start),
            },
        };
        ValueOrigin {
            layer: self.layer,
            place,
        }
    }

    /// Returns the line that holds the offset, counted from 1.
    fn line(&self, offset: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= offset)
    }

    fn error(&self, span: Range<usize>, message: String) -> SyntaxError {
        let offset = span.start.min(self.text.len());
        let line = self.line(offset);
        let start = self.line_starts[line - 1];
        let snippet = self.text[start..].lines().next().unwrap_or_default();
        SyntaxError {
            source: match &self.path {
                None => "built-in defaults".to_owned(),
                Some(path) => path.display().to_string(),
            },
            line,
            column: self.text[start..offset].chars().count() + 1,
            // Messages of the parser may span lines; ours are one.
            message: message.replace('\n', ", "),
            snippet: snippet.to_owned(),
        }
    }
}
