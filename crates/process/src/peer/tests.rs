use std::os::unix::net::UnixStream;

use super::{PeerError, PeerRestraint, check_peer};

fn restraint(no_new_privileges: bool, filters: u32) -> PeerRestraint {
    PeerRestraint {
        no_new_privileges,
        filters,
    }
}

#[test]
fn a_process_is_known_by_what_it_cannot_take_off() {
    let status = "Name:\tbash\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";
    assert_eq!(PeerRestraint::read(status), Some(restraint(true, 3)));
    assert_eq!(PeerRestraint::read("Name:\tbash\nNoNewPrivs:\t0\n"), None);
}

#[test]
fn only_a_sandbox_that_we_are_not_in_keeps_out() {
    let command = restraint(true, 2);
    assert!(command.is_tighter_than(restraint(false, 0)));
    assert!(command.is_tighter_than(restraint(true, 1)));
    assert!(!command.is_tighter_than(restraint(true, 2)));
    // A container that can still gain privileges.
    assert!(!restraint(false, 1).is_tighter_than(restraint(false, 0)));
}

#[test]
fn a_process_may_speak_to_itself_and_not_for_others() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let user = nix::unistd::geteuid().as_raw();
    check_peer(&ours, user).unwrap();
    let refused = check_peer(&ours, user + 1);
    assert!(matches!(refused, Err(PeerError::AnotherUser { .. })));
}
