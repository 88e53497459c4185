//! Many agents: what a child may be, and who is whose child.
//!
//! [`roles`] reads the files that describe kinds of children: prompt, model, tools, rights.
//! [`tree`] decides, purely, what happens to the agents of one tree.
//!
//! Deliberately absent: how a turn runs, provider names, rendering, the environment and the
//! home directory; paths come in as arguments.

pub mod roles;
pub mod tree;
