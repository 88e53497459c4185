//! Findings of a review, as people read them.

use std::fmt::Write as _;
use std::path::Path;

use troupe_protocol::event::{ReviewFinding, ReviewOutput};

/// Returns the findings, the most urgent first, and the verdict.
pub fn findings(output: &ReviewOutput, cwd: &Path) -> String {
    let mut findings: Vec<&ReviewFinding> = output.findings.iter().collect();
    findings.sort_by_key(|finding| finding.priority);
    let mut text = String::new();
    for finding in findings {
        text += &one(finding, cwd);
        text.push('\n');
    }
    let count = match output.findings.len() {
        // Where there was nothing to judge, the explanation is all there is to say.
        0 if output.overall_correctness.trim().is_empty() => String::new(),
        0 => "no findings".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    };
    let parts = [
        &count,
        &output.overall_correctness,
        &output.overall_explanation,
    ];
    let parts = parts.map(|part| part.trim());
    let said: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    text + &said.join("; ") + "\n"
}

fn one(finding: &ReviewFinding, cwd: &Path) -> String {
    let location = &finding.code_location;
    let path = &location.absolute_file_path;
    let path = path.strip_prefix(cwd).unwrap_or(path).display();
    let lines = location.line_range;
    let place = if lines.end > lines.start {
        format!("{path}:{}-{}", lines.start, lines.end)
    } else {
        format!("{path}:{}", lines.start)
    };
    // Reviewers like to write the priority into the title too.
    let title = finding.title.trim();
    let tag = format!("[P{}]", finding.priority);
    let title = title.strip_prefix(&tag).map_or(title, str::trim_start);
    let mut text = format!("{tag} {title}\n  {place}\n");
    for line in finding.body.trim().lines() {
        let _ = writeln!(text, "  {line}");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use expect_test::{Expect, expect};
    use serde_json::{Value, json};

    use super::findings;

    fn check(output: Value, expected: Expect) {
        let output = serde_json::from_value(output).unwrap();
        expected.assert_eq(&findings(&output, Path::new("/project")));
    }

    fn finding(title: &str, priority: u8, file: &str, lines: (u32, u32)) -> Value {
        json!({
            "title": title, "body": "Why.\nHow.", "confidence_score": 0.9, "priority": priority,
            "code_location": {
                "absolute_file_path": file,
                "line_range": {"start": lines.0, "end": lines.1},
            },
        })
    }

    #[test]
    fn the_most_urgent_comes_first() {
        check(
            json!({
                "findings": [
                    finding("Name it", 3, "/project/src/a.rs", (7, 7)),
                    finding("[P0] Do not lose data", 0, "/elsewhere/b.rs", (1, 4)),
                ],
                "overall_correctness": "patch is incorrect",
                "overall_explanation": "It loses data.",
                "overall_confidence_score": 0.8,
            }),
            expect![[r#"
                [P0] Do not lose data
                  /elsewhere/b.rs:1-4
                  Why.
                  How.

                [P3] Name it
                  src/a.rs:7
                  Why.
                  How.

                2 findings; patch is incorrect; It loses data.
            "#]],
        );
    }

    #[test]
    fn nothing_found_is_an_answer() {
        check(
            json!({
                "findings": [], "overall_correctness": "patch is correct",
                "overall_explanation": "", "overall_confidence_score": 1.0,
            }),
            expect![[r#"
                no findings; patch is correct
            "#]],
        );
    }

    #[test]
    fn where_there_was_nothing_to_review_only_that_is_said() {
        check(
            json!({
                "findings": [], "overall_correctness": "", "overall_explanation": "Nothing here.",
                "overall_confidence_score": 0.0,
            }),
            expect![[r#"
                Nothing here.
            "#]],
        );
    }
}
