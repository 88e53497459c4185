use expect_test::{Expect, expect};

use troupe_protocol::ResponseItem;

use super::{TranscriptPage, item_section, shortened};
use crate::limits::MCP_OUTPUT_CHARS_MAX;

fn check(uri: &str, expected: Expect) {
    let told = match TranscriptPage::parse(uri) {
        Ok(page) => format!("{} after {}", page.session, page.after),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&told);
}

#[test]
fn addresses_of_transcripts() {
    check(
        "troupe://sessions/abcd1234/transcript",
        expect!["abcd1234 after 0"],
    );
    check(
        "troupe://sessions/abcd1234/transcript?after=512",
        expect!["abcd1234 after 512"],
    );
    for wrong in [
        "file:///etc/passwd",
        "troupe://sessions/abcd1234",
        "troupe://sessions/abcd1234/transcript?after=x",
        "troupe://sessions/abcd1234/secrets",
    ] {
        assert!(TranscriptPage::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn long_outputs_say_what_is_left_out() {
    assert_eq!(shortened("short"), "short");
    let long = "é".repeat(MCP_OUTPUT_CHARS_MAX + 3);
    assert!(shortened(&long).ends_with("\n… 3 more characters"));
}

#[test]
fn what_the_engine_told_its_model_is_no_word_of_the_user() {
    let mut text = String::new();
    for words in [
        "<environment_context>\n  <cwd>/w</cwd>\n</environment_context>",
        "<current_plan>\n- [pending] bake\n</current_plan>",
        "[Troupe] Child session 12345678 has completed.",
        "bake bread",
    ] {
        item_section(&mut text, &ResponseItem::user_text(words));
    }
    item_section(
        &mut text,
        &ResponseItem::assistant_text("<proposed_plan>\n1. bake\n</proposed_plan>"),
    );
    let titles: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("## "))
        .collect();
    assert_eq!(
        titles,
        [
            "## note (surroundings)",
            "## note (plan so far)",
            "## note (callback)",
            "## user",
            "## assistant"
        ]
    );
    assert!(!text.contains("proposed_plan"), "{text}");
}
