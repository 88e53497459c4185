use troupe_protocol::ClientId;
use troupe_protocol::link::Secret;

use super::{ClientIdentities, NameTaken};
use crate::limits::IDENTITIES_MAX;

#[test]
fn a_name_is_taken_back_only_with_its_secret() {
    let mut identities = ClientIdentities::default();
    let name = ClientId::from("a");
    let secret = identities.admit(&name, None, |_| true).unwrap();
    let wrong = Secret("b".repeat(64));
    for shown in [None, Some(wrong)] {
        assert!(!identities.is(&name, shown.as_ref()));
        assert_eq!(identities.admit(&name, shown, |_| true), Err(NameTaken));
    }
    assert!(identities.is(&name, Some(&secret)));
    let again = identities.admit(&name, Some(secret.clone()), |_| true);
    assert_eq!(again, Ok(secret));
}

/// A server that was started again knows nobody.
#[test]
fn an_unknown_name_brings_its_secret() {
    let mut identities = ClientIdentities::default();
    let name = ClientId::from("a");
    let shown = Secret("of the server before".to_owned());
    let kept = identities.admit(&name, Some(shown.clone()), |_| true);
    assert_eq!(kept, Ok(shown));
    assert_eq!(identities.admit(&name, None, |_| true), Err(NameTaken));
}

#[test]
fn those_who_are_there_are_not_forgotten() {
    let mut identities = ClientIdentities::default();
    let driver = ClientId::from("driver");
    identities.admit(&driver, None, |_| true).unwrap();
    for number in 0..IDENTITIES_MAX + 5 {
        let other = ClientId::from(format!("{number}").as_str());
        let is_present = |client: &ClientId| *client == driver;
        identities.admit(&other, None, is_present).unwrap();
    }
    assert!(identities.known.len() <= IDENTITIES_MAX);
    assert_eq!(identities.admit(&driver, None, |_| true), Err(NameTaken));
}
