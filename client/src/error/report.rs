//! Formats an error and its causes as text for people to read.

use std::error::Error as StdError;
use std::fmt;

/// Returns an error and its causes on one line. A cause that begins with the message before it replaces that message:
/// `connection refused (os error 111)` instead of `connection refused: connection refused (os error 111)`.
pub fn chain(error: &dyn StdError) -> String {
    let mut parts = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        let last = parts.last().map(|last| last.to_lowercase());
        if last.is_some_and(|last| words.to_lowercase().starts_with(&last)) {
            parts.pop();
        }
        parts.push(words);
        cause = error.source();
    }
    parts.join(": ")
}

/// An error type for the result of `main`, which prints the error with its causes: `Error: cannot connect: connection
/// refused (os error 111)`.
///
/// The operator `?` converts any error to it.
///
/// ```no_run
/// #[tokio::main]
/// async fn main() -> Result<(), z3950::error::Report> {
///     let catalogue = z3950::Client::new().connect("lib.example/books").await?;
///     let hits = catalogue.search(z3950::Query::title("emma")).await?;
///     println!("{} found", hits.count());
///     Ok(())
/// }
/// ```
pub struct Report(Box<dyn StdError + Send + Sync>);

impl<E: StdError + Send + Sync + 'static> From<E> for Report {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&chain(&*self.0))
    }
}

impl fmt::Debug for Report {
    /// Writes the text of `Display`, because `main` prints the `Debug` form.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;
    use crate::error::{Cause, Error, Phase};

    #[test]
    fn audit_r_l7_a_main_prints_causes_once() {
        let fails = || -> Result<(), Report> {
            let refused = io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "Connection refused (os error 111)",
            );
            Err(Error::unavailable(
                Phase::Connect,
                Cause::Refused(Arc::new(refused)),
            ))?
        };
        let report = fails().expect_err("it fails");
        assert_eq!(
            format!("{report:?}"),
            "cannot connect: Connection refused (os error 111)"
        );
    }
}
