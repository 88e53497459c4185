//! Tables of which each row names the tests that show it: `CRATE PATH`, as cargo names them.

use super::read;

pub(super) struct Row {
    pub(super) first: String,
    tests: String,
}

/// Returns the rows of every table whose last column is `test`.
pub(super) fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
        let (first, tests) = cells.split_once(" | ")?;
        (tests != "test").then(|| Row {
            first: first.to_owned(),
            tests: tests.to_owned(),
        })
    };
    text.lines().filter_map(row).collect()
}

impl Row {
    /// Returns a complaint for each test that is not there.
    pub(super) fn complaints(&self) -> impl Iterator<Item = String> {
        let tests = self.tests.split(", ");
        let absent = tests.filter(|test| !is_there(test).unwrap_or(false));
        absent.map(|test| format!("{}: there is no test {test}", self.first))
    }
}

/// Returns `None` for what is no name of a test.
pub(super) fn is_there(test: &str) -> Option<bool> {
    let (room, path) = test.strip_prefix('`')?.strip_suffix('`')?.split_once(' ')?;
    let (modules, name) = path.rsplit_once("::")?;
    let modules = modules.replace("::", "/");
    let folder = match room {
        "xtask" => room.to_owned(),
        _ => format!("crates/{room}"),
    };
    let mut files = vec![
        format!("{folder}/tests/it/{modules}.rs"),
        format!("{folder}/src/{modules}.rs"),
    ];
    // Few tests of a small file stand in it.
    let inline = modules.strip_suffix("/tests");
    files.extend(inline.map(|file| format!("{folder}/src/{file}.rs")));
    let mut texts = files.iter().filter_map(|file| read(file));
    Some(texts.any(|file| has_test(&file.text, name)))
}

fn has_test(text: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
    let heads = lines.iter().enumerate().filter(|(_, line)| {
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.starts_with(&head)
    });
    let is_test = |at: usize| {
        let above = lines[..at].iter().rev();
        let mut attributes = above.take_while(|line| line.starts_with("#["));
        attributes.any(|line| line.starts_with("#[test]") || line.starts_with("#[tokio::test"))
    };
    heads.map(|(at, _)| at).any(is_test)
}
