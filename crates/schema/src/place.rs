//! JSON pointers: where something stands.

/// Returns the place of a member.
pub(super) fn below(place: &str, key: &str) -> String {
    let mut below = String::with_capacity(place.len() + key.len() + 1);
    below.push_str(place);
    push(&mut below, key);
    below
}

/// Goes on to a member.
pub(super) fn push(place: &mut String, key: &str) {
    place.push('/');
    for character in key.chars() {
        match character {
            '~' => place.push_str("~0"),
            '/' => place.push_str("~1"),
            other => place.push(other),
        }
    }
}

/// Returns the place that a `$ref` names, if it is one of the same document. Fragments of
/// addresses write some characters as `%` and two digits.
pub(super) fn of_reference(reference: &str) -> Option<String> {
    let place = percent_decoded(reference.strip_prefix('#')?)?;
    (place.is_empty() || place.starts_with('/')).then_some(place)
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let decoded = match byte {
            b'%' => hex(rest.next()?)? << 4 | hex(rest.next()?)?,
            other => other,
        };
        bytes.push(decoded);
    }
    String::from_utf8(bytes).ok()
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}
