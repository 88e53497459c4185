use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use super::{AccessToken, TokenError};

#[test]
fn a_token_is_known_or_not() {
    let token = AccessToken("0123456789abcdef".to_owned());
    assert!(token.is("0123456789abcdef"));
    for wrong in [
        "",
        "0123456789abcdeX",
        "0123456789abcde",
        "0123456789abcdef0",
    ] {
        assert!(!token.is(wrong), "{wrong:?}");
    }
    assert!(token.is_bearer("bearer 0123456789abcdef"));
    assert!(!token.is_bearer("Basic 0123456789abcdef"));
    assert!(!token.is_bearer("0123456789abcdef"));
}

#[test]
fn the_file_is_made_once_and_is_ours_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("proto.token");
    let made = AccessToken::read_or_make(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    assert!(AccessToken::read_or_make(&path).unwrap().is(&made.0));
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_others_can_read_is_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs::write(&path, "0123456789abcdef\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(AccessToken::read(&path), Err(TokenError::Open)));
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert!(AccessToken::read(&path).unwrap().is("0123456789abcdef"));
    fs::write(&path, "short\n").unwrap();
    assert!(matches!(AccessToken::read(&path), Err(TokenError::Short)));
}
