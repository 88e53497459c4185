//! Git's compressed bitmaps (EWAH): runs of equal words, and words as they are.

use std::ops::Range;

const WORD_BITS: usize = 64;

/// Positions that are marked, as ascending runs: a few bytes can mark any number.
#[derive(Debug, Default)]
pub(super) struct EwahBitmap(Vec<Range<usize>>);

impl EwahBitmap {
    /// Takes one bitmap from the beginning of `rest`.
    pub(super) fn parse(rest: &mut &[u8]) -> Option<Self> {
        // How many bits it has is known from the file that it is about.
        number(rest)?;
        let words = number(rest)?;
        let (content, after) = rest.split_at_checked(words.checked_mul(8)?)?;
        *rest = after;
        // Where the last run begins matters to who appends.
        number(rest)?;
        let mut words = content
            .chunks_exact(8)
            .map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
        let mut marked = Vec::new();
        let mut at = 0_usize;
        while let Some(run) = words.next() {
            let repeated = usize::try_from(run >> 1 & 0xffff_ffff).ok()?;
            let end = at.checked_add(repeated.checked_mul(WORD_BITS)?)?;
            if run & 1 == 1 {
                marked.push(at..end);
            }
            at = end;
            for _ in 0..run >> 33 {
                let word = words.next()?;
                let is_set = |bit: &usize| word >> bit & 1 == 1;
                let set = (0..WORD_BITS).filter(is_set);
                marked.extend(set.map(|bit| at + bit..at + bit + 1));
                at = at.checked_add(WORD_BITS)?;
            }
        }
        Some(Self(marked))
    }

    pub(super) fn contains(&self, position: usize) -> bool {
        let after = self.0.partition_point(|run| run.start <= position);
        after > 0 && self.0[after - 1].contains(&position)
    }
}

fn number(rest: &mut &[u8]) -> Option<usize> {
    let (number, after) = rest.split_first_chunk::<4>()?;
    *rest = after;
    usize::try_from(u32::from_be_bytes(*number)).ok()
}
