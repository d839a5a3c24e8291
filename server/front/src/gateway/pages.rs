//! The gateway's pages.

use askama::Template;

use crate::layout::PageLayout;
use crate::shown::ShownRecord;

/// A record.
#[derive(Template)]
#[template(path = "gateway/record.html")]
pub(super) struct RecordPage<'a> {
    pub(super) layout: &'a PageLayout,
    pub(super) record: ShownRecord,
}

/// The reason why there is none.
#[derive(Template)]
#[template(path = "gateway/failure.html")]
pub(super) struct FailurePage<'a> {
    pub(super) layout: &'a PageLayout,
    pub(super) title: &'a str,
    pub(super) words: &'a str,
    pub(super) links: &'a [String],
}
