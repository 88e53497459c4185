//! The workspace's scenarios: what a session does, told by its events.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod it {
    mod acp;
    mod agents;
    mod app;
    mod approvals;
    mod bookmarks;
    mod compaction;
    mod diagrams;
    mod durability;
    mod fake_host;
    mod faults;
    mod faulty;
    mod hooks;
    mod host;
    mod house;
    mod mcp;
    mod mcp_server;
    mod models;
    mod personality;
    mod plan;
    mod pointed;
    mod protocol;
    mod questions;
    mod review;
    mod rules;
    mod settings;
    mod skills;
    mod storage;
    mod tasks;
    mod undo;
    mod user_shell;
    mod wire;
}
