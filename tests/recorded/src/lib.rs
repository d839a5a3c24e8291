//! The code under test: returns titles in a catalogue that contain a word.

use z3950::{Client, Error, Query, Record};

/// Returns the titles of the first three hits at `target`, such as `lib.example:210/books`.
///
/// # Errors
/// The catalogue cannot be reached, or refuses the search.
pub async fn titles(target: &str, word: &str) -> Result<Vec<String>, Error> {
    let connection = Client::new().connect(target).await?;
    let hits = connection.search(Query::title(word)).await?;
    let records = hits.range(1..=3).collect().await?;
    Ok(records.iter().filter_map(Record::title).collect())
}
