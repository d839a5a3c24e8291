//! The gateway's pages.

use askama::Template;

use crate::choices::SearchForm;
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
    pub(super) links: &'a [GatewayLink],
    /// The form with the URL, to be mended, if there is a page for searches.
    pub(super) form: Option<SearchForm>,
}

/// Where to go on.
#[derive(Clone, Debug)]
pub(super) struct GatewayLink {
    pub(super) path: String,
    pub(super) words: String,
}
