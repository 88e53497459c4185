//! What a model can do: the tools, the registry that offers and runs them, and the policy
//! that decides which calls need a person's word.
//!
//! ```text
//! engine ──call──► Registry ──► Tool ──► policy: allow │ ask │ refuse
//!    ▲                           │          ask ──► Channel::ask ──► a person
//!    └── Channel::report ◄───────┤
//!        ToolOutput      ◄───────┘──► process (commands) · worker (files, edits)
//! ```
//!
//! A tool is one file in `src/builtin/` and one line in `toolbox.rs`; one that works on files has a
//! line in `file_work.rs`, too: a confined worker does that. A tool never
//! returns an error to the engine: what went wrong is news for the model, in words that say
//! how to do better. Output is capped where it is produced, and every cut is stated.
//!
//! Deliberately absent: session state, history, the wire, printing, reading of the
//! process's own environment or home, and tools that import other tools. What several tools
//! need (commands, background processes, edits) is a module of its own.

// The port: what the engine sees.
mod call;
mod item_tracker;
mod registry;
mod source;
mod tool;
mod toolbox;

// The tools.
mod answers;
pub mod arguments;
mod builtin;
pub mod item;

// Whether a call happens.
mod approval;
pub mod hooks;
mod policy;
pub mod rules;
pub mod safety;

// What calls do.
mod blocking;
mod command;
pub mod digest;
mod edit;
mod environment;
mod file;
mod file_work;
mod login;
mod picture;
mod shell_patch;
mod turn_diff;
pub mod undo;
mod user_shell;
mod walk;
mod worker;

// What is told of it.
mod lines;
pub mod truncate;

mod limits;

pub use answers::check_answers;
pub use approval::ApprovalMemory;
pub use builtin::update_plan::plan_set_by;
pub use call::{ApprovalQuestion, CallChannel, CallContext, ToolEvent, ToolInput, ToolInvocation};
pub use command::check_script;
pub use environment::{
    EnvironmentPolicy, InheritedVariables, has_secret_name, holds_credentials, sandbox_variables,
};
pub use login::shell;
pub use picture::{ModelPicture, PictureScale};
pub use policy::{PolicyVerdict, SandboxChoice};
pub use registry::Registry;
pub use source::{
    GatherListener, GatheredTools, SourceRevision, ToolSource, callable, server_prefix,
};
pub use tool::{DeliveryClaim, Tool, ToolConcurrency, ToolOutput};
pub use toolbox::{BUILT_IN_TOOLS, ToolDeps, Toolbox, UndoCoverage};
