//! Pictures that can go along: those that are there in full, in a format that providers take.

const MIME_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Returns the address of a picture if it holds the picture itself. One that only says where the
/// picture was would have a provider fetch it, and refuse the whole request when it is gone.
pub(crate) fn embedded(address: &str) -> Option<&str> {
    let (mime, data) = address.strip_prefix("data:")?.split_once(";base64,")?;
    (MIME_TYPES.contains(&mime) && is_base64(data)).then_some(address)
}

/// Returns a picture of which kind and data are known as such an address.
pub(crate) fn address(mime: &str, data: &str) -> Option<String> {
    let address = format!("data:{mime};base64,{data}");
    embedded(&address).is_some().then_some(address)
}

fn is_base64(data: &str) -> bool {
    let body = data.trim_end_matches('=');
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !body.is_empty()
        && data.len() - body.len() <= 2
        && data.len().is_multiple_of(4)
        && body.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pictures_go_along() {
        assert!(address("image/png", "iVBORw0KGgo=").is_some());
        assert!(address("image/svg+xml", "iVBORw0KGgo=").is_none());
        assert!(address("image/png", "not base64").is_none());
        assert!(embedded("https://example.com/a.png").is_none());
        assert!(embedded("data:image/png,raw").is_none());
    }
}
