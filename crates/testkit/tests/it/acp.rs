//! The Agent Client Protocol, both ways: programs that are children, and editors.

mod backends;
mod editor;
