//! Cutting an answer to what the model may be asked to read: the middle goes, and the cut
//! is stated where it was made.

use std::borrow::Cow;

use crate::limits::BYTES_PER_TOKEN;

/// Estimates what a text costs the model.
pub(crate) fn tokens(bytes: u64) -> u64 {
    bytes.div_ceil(BYTES_PER_TOKEN as u64)
}

/// Keeps the head and the tail of a text that is longer than `tokens_max`.
pub fn middle(text: &str, tokens_max: usize) -> Cow<'_, str> {
    middle_of(text, text.len() as u64, tokens_max)
}

/// As [`middle`], of a text that was `bytes_total` long before some of its middle went.
pub(crate) fn middle_of(text: &str, bytes_total: u64, tokens_max: usize) -> Cow<'_, str> {
    let bytes_max = tokens_max.saturating_mul(BYTES_PER_TOKEN);
    if text.len() <= bytes_max {
        return Cow::Borrowed(text);
    }
    let head_end = text.floor_char_boundary(bytes_max / 2);
    let tail_start = text.ceil_char_boundary(text.len() - (bytes_max - bytes_max / 2));
    let kept = (head_end + text.len() - tail_start) as u64;
    let omitted = tokens(bytes_total.saturating_sub(kept));
    Cow::Owned(format!(
        "{}…{omitted} tokens truncated…{}",
        &text[..head_end],
        &text[tail_start..]
    ))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    fn check(text: &str, tokens_max: usize, expect: Expect) {
        expect.assert_eq(&super::middle(text, tokens_max));
    }

    #[test]
    fn what_fits_is_untouched() {
        check("", 0, expect![""]);
        check("12345678", 2, expect!["12345678"]);
    }

    #[test]
    fn the_middle_goes() {
        check(
            "head56789012tail",
            2,
            expect!["head…2 tokens truncated…tail"],
        );
        check("head", 0, expect!["…1 tokens truncated…"]);
    }

    #[test]
    fn what_went_before_is_counted_too() {
        let cut = super::middle_of("head…tail", 4_000, 2);
        expect!["head…998 tokens truncated…tail"].assert_eq(&cut);
    }

    #[test]
    fn characters_stay_whole() {
        check("äääääääääää", 1, expect!["ä…5 tokens truncated…ä"]);
    }

    proptest::proptest! {
        #[test]
        fn head_and_tail_are_the_texts_own(text in "[a-z äß漢🦀]{0,200}", tokens_max in 0_usize..40) {
            let cut = super::middle(&text, tokens_max);
            let Some((head, rest)) = cut.split_once('…') else {
                proptest::prop_assert_eq!(&*cut, text.as_str());
                return Ok(());
            };
            let (_, tail) = rest.split_once('…').expect("the note ends as it begins");
            proptest::prop_assert!(text.starts_with(head) && text.ends_with(tail));
            proptest::prop_assert!(head.len() + tail.len() <= tokens_max * 4);
        }
    }
}
