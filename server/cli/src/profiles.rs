//! The profiles of targets: those built in, and those in the file named by `target-profiles`.

use std::path::Path;

use z3950_front::z3950::profile::{ProfileError, Profiles};

/// Returns the built-in profiles and those of a file.
///
/// # Errors
/// The file cannot be read.
pub(crate) fn read(file: Option<&Path>) -> Result<Profiles, ProfileError> {
    let built_in = Profiles::built_in();
    match file {
        Some(path) => built_in.with_file(path),
        None => Ok(built_in),
    }
}
