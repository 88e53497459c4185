//! The picker of sessions: which conversation to go on with.
//!
//! Its state is pure as that of the screen: [`SessionPicker::key`] and [`SessionPicker::told`]
//! return what is to be asked of the catalogue, [`rows::frame`] returns rows. [`run_picker`] alone
//! touches the world.

mod catalogue;
mod keys;
mod picker;
mod rows;
mod run;

pub use catalogue::{
    CatalogueAnswer, CatalogueRequest, PageFreshness, SessionCatalogue, SessionOrder, SessionScope,
};
pub use picker::{PickerChoice, SessionPicker};
pub use run::run_picker;

#[cfg(test)]
mod tests;
