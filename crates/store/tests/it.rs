//! The store as its users see it: real directories, real files, real processes.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]
#![expect(
    clippy::needless_raw_string_hashes,
    reason = "expectations are written by the tool in this form"
)]

mod it {
    mod agent_lines;
    mod archive;
    mod bookmarks;
    mod child;
    mod deletion;
    mod faults;
    mod home;
    mod index;
    mod kill;
    mod lease;
    mod list;
    mod memory;
    mod model;
    mod resume;
    mod search;
    mod torn;
    mod trees;
}
