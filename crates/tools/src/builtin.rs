//! The tools, one file each.

pub(crate) mod find_files;
pub(crate) mod grep_files;
pub(crate) mod list_dir;
pub(crate) mod read_file;
pub(crate) mod update_plan;
pub(crate) mod view_image;
