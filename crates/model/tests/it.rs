//! The crate over real sockets: providers against the mock server and its faults.

#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expect-test writes its literals with hashes"
)]
#![expect(clippy::unwrap_used, reason = "a test ends where it fails")]

mod it {
    mod chat;
    mod faults;
    mod hand_made;
    mod messages;
    mod provider;
    pub mod support;
}
