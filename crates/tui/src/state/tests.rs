//! Keys and events in, effects and rows out.
