//! Blocks between tags in what a model says.

use troupe_engine::tags::{BlockTag, TagSegment, read};

use crate::fuzz::pieces::cut_text;
use crate::fuzz::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "tags",
    run,
    words: &[
        "<proposed_plan>\n",
        "</proposed_plan>\n",
        "<proposed_plan>",
        "</proposed_plan>",
        "  <proposed_plan>  \n",
        "<note>\n",
        "</note>\n",
        "<pro",
        "\r\n",
        "\n",
        "\u{a0}",
    ],
};

const TAGS: &[BlockTag<u8>] = &[
    BlockTag {
        block: 1,
        open: "<proposed_plan>",
        close: "</proposed_plan>",
    },
    BlockTag {
        block: 2,
        open: "<note>",
        close: "</note>",
    },
];

fn run(input: &[u8]) -> Shape {
    let text = String::from_utf8_lossy(input);
    let whole = read(TAGS, [&*text]);
    assert_eq!(
        read(TAGS, cut_text(&text)),
        whole,
        "pieces mean what the whole does"
    );
    let mut open = None;
    let mut kinds = String::new();
    for segment in &whole {
        match segment {
            TagSegment::Text(_) => assert_eq!(open, None, "text is outside of blocks"),
            TagSegment::Open(block) => assert_eq!(open.replace(*block), None, "blocks do not nest"),
            TagSegment::Inner(block, _) => assert_eq!(open, Some(*block)),
            TagSegment::Close(block) => assert_eq!(open.take(), Some(*block)),
        }
        kinds.push(match segment {
            TagSegment::Text(_) => 't',
            TagSegment::Open(_) => 'o',
            TagSegment::Inner(..) => 'i',
            TagSegment::Close(_) => 'c',
        });
    }
    assert_eq!(open, None, "every block is closed");
    Shape::of(&kinds)
}
