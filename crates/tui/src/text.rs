//! Text as a terminal shows it: clean, measured, wrapped, and in rows of styled spans.

pub mod ansi;
mod append;
pub mod clean;
pub mod quantity;
pub mod row;
pub mod style;
pub mod width;
pub mod wrap;

pub use append::append;
pub use clean::clean;
pub use row::{RowShade, TextRow, TextSpan};
pub use style::{Ink, TextStyle};
pub use width::{graphemes, text_width};
pub use wrap::{Indent, wrap_lines, wrap_text};
