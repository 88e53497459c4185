//! Changes inputs.

use rand::Rng as _;
use rand::rngs::SmallRng;

/// Longer inputs say nothing new about a reader, and take time.
pub(super) const INPUT_BYTES_MAX: usize = 16 * 1024;
/// How often a part is repeated at most, to find what grows faster than its input.
const REPEATS_MAX: usize = 400;

/// Returns a changed copy; `other` is another input to take parts from.
pub(super) fn mutate(input: &[u8], other: &[u8], words: &[&str], random: &mut SmallRng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..random.random_range(1..=4) {
        change(&mut bytes, other, words, random);
    }
    bytes.truncate(INPUT_BYTES_MAX);
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], words: &[&str], random: &mut SmallRng) {
    let at = random.random_range(0..=bytes.len());
    match random.random_range(0..9) {
        0 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.random_range(0..8);
            }
        }
        1 => insert(bytes, at, &[random.random()]),
        2 => {
            let interesting = b"\0\n\r\t \"\\{}[]:,-*#@<>/\x7f\x80\xff";
            let byte = interesting[random.random_range(0..interesting.len())];
            insert(bytes, at, &[byte]);
        }
        3 => {
            bytes.drain(part(bytes.len(), random));
        }
        4 => {
            let copy = bytes[part(bytes.len(), random)].to_vec();
            insert(bytes, at, &copy);
        }
        5 => {
            let taken = &other[part(other.len(), random)];
            insert(bytes, at, taken);
        }
        6 if !words.is_empty() => {
            let word = words[random.random_range(0..words.len())];
            insert(bytes, at, word.as_bytes());
        }
        7 => bytes.truncate(at),
        _ => {
            let copy = bytes[part(bytes.len().min(64), random)].to_vec();
            insert(
                bytes,
                at,
                &copy.repeat(random.random_range(1..=REPEATS_MAX)),
            );
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, new: &[u8]) {
    bytes.splice(at..at, new.iter().copied());
}

fn part(length: usize, random: &mut SmallRng) -> std::ops::Range<usize> {
    let start = random.random_range(0..=length);
    let end = random.random_range(start..=length.min(start + 256));
    start..end
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::*;

    #[test]
    fn changes_are_bounded_and_follow_from_the_seed() {
        let run = || -> Vec<Vec<u8>> {
            let mut random = SmallRng::seed_from_u64(7);
            let mut input = b"{\"a\": 1}".to_vec();
            (0..500)
                .map(|_| {
                    input = mutate(&input, b"other", &["word"], &mut random);
                    input.clone()
                })
                .collect()
        };
        let inputs = run();
        assert_eq!(inputs, run());
        assert!(inputs.iter().all(|input| input.len() <= INPUT_BYTES_MAX));
        assert!(inputs.iter().any(|input| input.len() > 1000));
    }
}
