//! The crate over real sockets: providers against the scripted server and its faults.

mod it {
    mod cassette;
    mod chat;
    mod faults;
    mod hand_made;
    mod provider;
    mod scripted;
    pub mod support;
}
