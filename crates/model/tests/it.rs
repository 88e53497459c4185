//! The crate over real sockets: providers against the scripted server and its faults.

#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expect-test writes its literals with hashes"
)]
#![expect(clippy::unwrap_used, reason = "a test ends where it fails")]

mod it {
    mod cassette;
    mod chat;
    mod faults;
    mod hand_made;
    mod messages;
    mod provider;
    mod scripted;
    pub mod support;
}
