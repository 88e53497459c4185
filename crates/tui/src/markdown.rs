//! Markdown of models, as rows. Prose has no gutter and code no indent, so that both are copied
//! as they were written.

mod blocks;
mod render;

pub use blocks::{StablePart, stable_part};
pub use render::markdown_rows;
