//! Answers of HTTP: pages with the headers that keep scripts and other sites out, and the style sheet.

use std::hash::{DefaultHasher, Hash, Hasher};

use askama::Template;
use z3950_server::web::WebBody;
use z3950_server::web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use z3950_server::web::http::{Response, StatusCode};

/// An answer.
pub(super) type PageAnswer = Response<WebBody>;

/// The style sheet.
pub(super) const STYLE: &str = include_str!("../../templates/style.css");

/// What a page may load, and where its form leads.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The path of the style sheet, which changes with its text.
pub(super) fn style_path() -> String {
    let mut hasher = DefaultHasher::new();
    STYLE.hash(&mut hasher);
    format!("/search/style-{:016x}.css", hasher.finish())
}

/// The style sheet, for good.
pub(super) fn style() -> PageAnswer {
    let mut answer = with_type(StatusCode::OK, "text/css; charset=utf-8", STYLE);
    let value = HeaderValue::from_static("public, max-age=31536000, immutable");
    answer.headers_mut().insert(CACHE_CONTROL, value);
    answer
}

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

/// An answer of this type.
pub(super) fn with_type(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<WebBody>,
) -> PageAnswer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "private, no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    answer
}
