//! The gateway's pages, which have no scripts and no styles.

use askama::Template;

/// A record.
#[derive(Template)]
#[template(path = "gateway/record.html")]
pub(super) struct RecordPage<'a> {
    pub(super) title: &'a str,
    pub(super) url: &'a str,
    /// The forms in which it can be had.
    pub(super) forms: Vec<&'static str>,
    pub(super) text: &'a str,
}

/// The reason why there is none.
#[derive(Template)]
#[template(path = "gateway/failure.html")]
pub(super) struct FailurePage<'a> {
    pub(super) title: &'a str,
    pub(super) words: &'a str,
    pub(super) links: &'a [String],
}
