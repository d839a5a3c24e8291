//! Answers of HTTP with pages.

use askama::Template;
use z3950_server::web::WebBody;
use z3950_server::web::http::{Response, StatusCode};

use crate::layout::with_type;

/// An answer.
pub(super) type PageAnswer = Response<WebBody>;

/// A page.
pub(super) fn html(status: StatusCode, template: &impl Template) -> PageAnswer {
    match template.render() {
        Ok(page) => page_of(status, page),
        // Writing to a String cannot fail.
        Err(error) => with_type(
            StatusCode::INTERNAL_SERVER_ERROR,
            "text/plain",
            error.to_string(),
        ),
    }
}

/// A page with this text.
pub(super) fn page_of(status: StatusCode, body: impl Into<WebBody>) -> PageAnswer {
    with_type(status, "text/html; charset=utf-8", body)
}
