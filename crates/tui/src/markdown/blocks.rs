//! How much of a text that still grows will not be laid out differently any more.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::render::options;
use crate::limits::OPEN_BYTES_MAX;

/// The part of a growing text that can be printed for good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StablePart {
    /// Bytes of the text.
    pub length: usize,
    /// The line that opens the code block in which the rest begins.
    pub fence: String,
    /// The rest goes on in the middle of a block.
    pub is_cut: bool,
}

/// Returns the stable part of a text that begins inside the code block of `fence`, if that is not
/// empty: all blocks but the last, and the whole lines of a code block that has grown long. A
/// paragraph that is too long is cut between words.
pub fn stable_part(fence: &str, text: &str) -> StablePart {
    let whole = format!("{fence}{text}");
    let mut depth = 0_usize;
    let mut last = 0..0;
    let mut is_fenced = false;
    for (event, range) in Parser::new_ext(&whole, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    last = range;
                    is_fenced = matches!(tag, Tag::CodeBlock(CodeBlockKind::Fenced(_)));
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => (last, is_fenced) = (range, false),
            _ => {}
        }
    }
    let block = &whole[last.start..];
    if block.len() <= OPEN_BYTES_MAX {
        // The fence itself is no part of the text.
        let length = last.start.saturating_sub(fence.len());
        let fence = if length == 0 { fence } else { "" };
        return StablePart {
            length,
            fence: fence.to_owned(),
            is_cut: false,
        };
    }
    let room = floor(block, OPEN_BYTES_MAX / 2);
    let breaks: &[char] = if is_fenced { &['\n'] } else { &['\n', ' '] };
    let cut = block[..room].rfind(breaks).map_or(room, |at| at + 1);
    let opener = block.find('\n').map_or(block.len(), |at| at + 1);
    StablePart {
        length: (last.start + cut).saturating_sub(fence.len()),
        fence: if is_fenced {
            block[..opener].to_owned()
        } else {
            String::new()
        },
        is_cut: true,
    }
}

fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_blocks_but_the_last_are_stable() {
        let cases = [
            ("", ""),
            ("one", ""),
            ("one\n\ntwo", "one\n\n"),
            ("# head\n\ntext\n- a\n- b", "# head\n\ntext\n"),
            ("a\n\n```rust\nlet x;\nlet", "a\n\n"),
            ("| a | b |\n|---|---|\n| 1 |", ""),
        ];
        for (text, stable) in cases {
            let part = stable_part("", text);
            assert_eq!(&text[..part.length], stable, "{text:?}");
            assert!(!part.is_cut && part.fence.is_empty());
        }
    }

    #[test]
    fn a_paragraph_without_an_end_is_cut_between_words() {
        let text = "word ".repeat(10_000);
        let part = stable_part("", &text);
        assert!(part.is_cut && part.length > 0 && part.length < OPEN_BYTES_MAX);
        assert!(text[..part.length].ends_with(' '));
        assert!(stable_part("", &"é".repeat(10_000)).length > 0);
    }

    #[test]
    fn a_long_code_block_leaves_line_by_line() {
        let code = format!("```rust\n{}", "let x = 1;\n".repeat(1_000));
        let part = stable_part("", &code);
        assert_eq!(part.fence, "```rust\n");
        assert!(code[..part.length].ends_with(";\n"));
        let rest = &code[part.length..];
        let next = stable_part(&part.fence, rest);
        assert_eq!(next.fence, "```rust\n");
        assert!(next.length > 0 && rest[..next.length].ends_with(";\n"));
        let end = stable_part("```rust\n", "let y;\n```\n\nafter");
        assert_eq!((end.length, end.fence.as_str()), (12, ""));
    }
}
