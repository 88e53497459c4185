//! The workspace's scenarios: what a session does, told by its events.

mod it {
    mod approvals;
    mod bookmarks;
    mod compaction;
    mod diagrams;
    mod durability;
    mod faults;
    mod review;
    mod rules;
    mod storage;
    mod tasks;
}
