//! What is known about servers: the built-in profiles, and the profiles in the file that `target-profiles` names.

use std::path::Path;

use z3950_front::z3950::profile::{ProfileError, Profiles};

/// Reads the built-in profiles and those of a file.
///
/// # Errors
/// If the file cannot be read.
pub(crate) fn read(file: Option<&Path>) -> Result<Profiles, ProfileError> {
    let built_in = Profiles::built_in();
    match file {
        Some(path) => built_in.with_file(path),
        None => Ok(built_in),
    }
}
