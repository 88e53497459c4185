//! JSON values put into a TOML document.

use serde_json::{Map, Value as Json};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};
use troupe_config::KeyPath;

/// What becomes of a table that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableMerge {
    Replace,
    /// Keys that the new one does not name stay.
    Upsert,
}

/// Puts a value at a key; null takes the key away. Says in words why it cannot.
pub fn set(
    document: &mut DocumentMut,
    key: &KeyPath,
    value: &Json,
    merge: TableMerge,
) -> Result<(), String> {
    let Some((last, parents)) = key.parts().split_last() else {
        return Err("a key has at least one part".to_owned());
    };
    let Some(table) = table_at(document.as_table_mut(), parents, value)? else {
        return Ok(());
    };
    put(table, last, value, merge).map_err(|problem| format!("{key}: {problem}"))
}

/// Finds the table that holds a key, and makes it unless the key is to be taken away.
fn table_at<'a>(
    root: &'a mut Table,
    parents: &[String],
    value: &Json,
) -> Result<Option<&'a mut dyn TableLike>, String> {
    let mut table: &mut dyn TableLike = root;
    let mut way = KeyPath::root();
    for name in parents {
        way = way.child(name);
        if !table.contains_key(name) {
            if value.is_null() {
                return Ok(None);
            }
            let mut between = Table::new();
            between.set_implicit(true);
            table.insert(name, Item::Table(between));
        }
        let inner = table.get_mut(name).and_then(Item::as_table_like_mut);
        table = inner.ok_or_else(|| format!("{way} is not a table"))?;
    }
    Ok(Some(table))
}

fn put(table: &mut dyn TableLike, name: &str, new: &Json, merge: TableMerge) -> Result<(), String> {
    let there = table.get_mut(name);
    match (new, there) {
        (Json::Null, _) => {
            table.remove(name);
        }
        (Json::Object(fields), Some(old)) if merge == TableMerge::Upsert && old.is_table_like() => {
            let inner = old
                .as_table_like_mut()
                .expect("the guard says that it is like a table");
            for (name, new) in fields {
                put(inner, name, new, merge).map_err(|problem| format!("{name}: {problem}"))?;
            }
        }
        (Json::Object(fields), None | Some(Item::Table(_) | Item::None)) => {
            table.insert(name, Item::Table(whole_table(fields)?));
        }
        // What stands around a value, such as the comment behind it, stays.
        (new, Some(Item::Value(old))) => {
            let decor = old.decor().clone();
            *old = toml(new)?;
            *old.decor_mut() = decor;
        }
        (new, _) => {
            table.insert(name, Item::Value(toml(new)?));
        }
    }
    Ok(())
}

fn whole_table(fields: &Map<String, Json>) -> Result<Table, String> {
    let mut table = Table::new();
    for (name, new) in fields {
        put(&mut table, name, new, TableMerge::Replace)
            .map_err(|problem| format!("{name}: {problem}"))?;
    }
    Ok(table)
}

fn toml(value: &Json) -> Result<Value, String> {
    Ok(match value {
        Json::Null => return Err("null has no form in TOML".to_owned()),
        Json::Bool(flag) => (*flag).into(),
        Json::String(text) => text.as_str().into(),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => number.into(),
            (None, Some(float)) if number.is_f64() => float.into(),
            _ => return Err(format!("{number} does not fit 64 bits")),
        },
        Json::Array(items) => Value::Array(items.iter().map(toml).collect::<Result<Array, _>>()?),
        Json::Object(fields) => {
            let mut table = InlineTable::new();
            for (name, value) in fields {
                table.insert(name, toml(value)?);
            }
            Value::InlineTable(table)
        }
    })
}

#[cfg(test)]
mod tests;
