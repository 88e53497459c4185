//! TOML text → entries with their lines.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::entry::{Entry, Layer, Origin, Place, Table, Value};
use crate::error::SyntaxError;

/// A text with what is needed to say where something stands in it.
struct Source<'a> {
    text: &'a str,
    layer: Layer,
    path: Option<Arc<Path>>,
    /// Byte offsets at which lines begin.
    line_starts: Vec<usize>,
}

pub fn parse_file(text: &str, layer: Layer, path: &Path) -> Result<Entry, SyntaxError> {
    parse(text, layer, Some(path))
}

pub fn parse_defaults(text: &str) -> Result<Entry, SyntaxError> {
    parse(text, Layer::Defaults, None)
}

fn parse(text: &str, layer: Layer, path: Option<&Path>) -> Result<Entry, SyntaxError> {
    let newlines = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
    let source = Source {
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
    Ok(Entry {
        origin: source.origin(0..0),
        value: Value::Table(table),
    })
}

/// A number that TOML allows and we cannot hold.
pub struct Unfit {
    pub span: Range<usize>,
}

/// Converts a parsed value; `origin` tells where a span stands.
pub fn convert(
    value: Spanned<DeValue<'_>>,
    origin: &impl Fn(Range<usize>) -> Origin,
) -> Result<Value, Unfit> {
    let span = value.span();
    Ok(match value.into_inner() {
        DeValue::String(text) => Value::String(text.into_owned()),
        DeValue::Boolean(flag) => Value::Boolean(flag),
        DeValue::Datetime(time) => Value::Datetime(time),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(Value::Integer)
            .map_err(|_| Unfit { span })?,
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .map(Value::Float)
            .map_err(|_| Unfit { span })?,
        DeValue::Array(items) => {
            let items = items.into_iter().map(|item| {
                Ok(Entry {
                    origin: origin(item.span()),
                    value: convert(item, origin)?,
                })
            });
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Table(convert_table(table, origin)?),
    })
}

fn convert_table(
    table: DeTable<'_>,
    origin: &impl Fn(Range<usize>) -> Origin,
) -> Result<Table, Unfit> {
    table
        .into_iter()
        .map(|(key, value)| {
            let entry = Entry {
                // The line of the key is what people look for, also when a value spans lines.
                origin: origin(key.span()),
                value: convert(value, origin)?,
            };
            Ok((key.into_inner().into_owned(), entry))
        })
        .collect()
}

impl Source<'_> {
    fn origin(&self, span: Range<usize>) -> Origin {
        let place = match &self.path {
            None => Place::BuiltIn,
            Some(path) => Place::File {
                path: path.clone(),
                line: self.line(span.start),
            },
        };
        Origin {
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
