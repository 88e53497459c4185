//! The workspace's scenarios: what a session does, told by its events.

mod it {
    mod agents;
    mod approvals;
    mod bookmarks;
    mod compaction;
    mod diagrams;
    mod durability;
    mod fake_host;
    mod faults;
    mod faulty;
    mod host;
    mod questions;
    mod review;
    mod rules;
    mod storage;
    mod tasks;
}
