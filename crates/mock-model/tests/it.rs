//! The crate over real sockets: what the ordinary provider makes of a screenplay and of a tape.

#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expect-test writes its literals with hashes"
)]
#![expect(clippy::unwrap_used, reason = "a test ends where it fails")]

mod it {
    mod cassette;
    mod scripted;
    // What the tests of the provider itself use.
    #[path = "../../../model/tests/it/support.rs"]
    pub mod support;
}
