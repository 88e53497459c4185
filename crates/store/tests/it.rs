//! The store as its users see it: real directories, real files, real processes.

mod it {
    mod home;
    mod resume;
}
