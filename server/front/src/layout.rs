//! The parts that all pages share: the frame with its style sheet, and the headers that block scripts and embedding in other
//! sites.

use std::hash::{DefaultHasher, Hash, Hasher};

use askama::Template;
use z3950_server::web::WebBody;
use z3950_server::web::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, LOCATION, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use z3950_server::web::http::{Response, StatusCode};

/// The style sheet.
const STYLE: &str = include_str!("../templates/style.css");

/// The Content-Security-Policy of pages: the sources that a page may load, and the targets of its forms.
const POLICY: &str = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The frame around each page.
#[derive(Clone, Debug)]
pub(crate) struct PageLayout {
    /// The path of the style sheet. The path changes whenever the style sheet does, so browsers can cache the style sheet for
    /// ever.
    pub(crate) style_path: String,
    /// Whether there is a search page, to which the frame links.
    pub(crate) has_search: bool,
}

impl PageLayout {
    pub(crate) fn new(has_search: bool) -> Self {
        let mut hasher = DefaultHasher::new();
        STYLE.hash(&mut hasher);
        Self {
            style_path: format!("/search/style-{:016x}.css", hasher.finish()),
            has_search,
        }
    }
}

/// Returns the heading of a page for a failure.
pub(crate) fn heading(status: StatusCode) -> &'static str {
    match status {
        StatusCode::MULTIPLE_CHOICES => "Several records match",
        StatusCode::BAD_REQUEST => "This request is not valid",
        StatusCode::UNAUTHORIZED => "A user and password are needed",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::NOT_ACCEPTABLE => "Not available in this format",
        StatusCode::TOO_MANY_REQUESTS => "Too many requests",
        StatusCode::BAD_GATEWAY => "The server refused",
        StatusCode::GATEWAY_TIMEOUT => "The server cannot be reached",
        other => other.canonical_reason().unwrap_or("Error"),
    }
}

/// Returns the style sheet, with headers that let it be cached for ever.
pub(crate) fn style() -> Response<WebBody> {
    let mut answer = with_type(StatusCode::OK, "text/css; charset=utf-8", STYLE);
    let value = HeaderValue::from_static("public, max-age=31536000, immutable");
    answer.headers_mut().insert(CACHE_CONTROL, value);
    answer
}

/// Renders a template as a page.
pub(crate) fn html(status: StatusCode, template: &impl Template) -> Response<WebBody> {
    page_of(status, rendered(template))
}

/// Renders a template. Control characters that HTML does not allow (HTML Standard §13.2.3.5) are replaced, wherever they come from.
pub(crate) fn rendered(template: &impl Template) -> String {
    // Rendering fails only if writing to a String fails, which does not happen.
    let page = template.render().unwrap_or_default();
    let is_raw = |one: char| one.is_control() && !['\n', '\t'].contains(&one);
    if page.contains(is_raw) {
        page.replace(is_raw, "\u{fffd}")
    } else {
        page
    }
}

/// Returns a page with this HTML.
pub(crate) fn page_of(status: StatusCode, body: impl Into<WebBody>) -> Response<WebBody> {
    with_type(status, "text/html; charset=utf-8", body)
}

/// Returns a redirect to `place`; `None` if `place` is not valid in a header.
pub(crate) fn redirect(status: StatusCode, place: &str) -> Option<Response<WebBody>> {
    let mut answer = with_type(status, "text/plain; charset=utf-8", "");
    let place = HeaderValue::try_from(place).ok()?;
    answer.headers_mut().insert(LOCATION, place);
    Some(answer)
}

/// Returns an answer with this media type.
pub(crate) fn with_type(
    status: StatusCode,
    kind: &'static str,
    body: impl Into<WebBody>,
) -> Response<WebBody> {
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
