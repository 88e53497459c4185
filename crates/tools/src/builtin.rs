//! The tools, one file each.

pub(crate) mod apply_patch;
pub(crate) mod exec_command;
pub(crate) mod find_files;
pub(crate) mod grep_files;
pub(crate) mod list_dir;
pub(crate) mod read_file;
pub(crate) mod request_user_input;
pub(crate) mod shell_command;
pub(crate) mod update_plan;
pub(crate) mod view_image;
pub(crate) mod write_stdin;
