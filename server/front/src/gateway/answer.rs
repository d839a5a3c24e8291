//! Creates HTTP answers: a record in one of its forms, a page, or a failure.

use askama::Template;
use z3950::Record;
use z3950::url::Z3950Url;
use z3950_asn1::sru::with_sound_xml;
use z3950_server::web::WebBody;
use z3950_server::web::http::header::{
    ALLOW, CONTENT_DISPOSITION, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use z3950_server::web::http::{Response, StatusCode};

use super::content::{self, GatewayContent};
use super::failure::{GatewayFailure, GatewayLink};
use super::negotiate::{Accept, Representation};
use crate::choices::SearchForm;
use crate::files::{FileFormat, file_name};
use crate::layout::{PageLayout, rendered, with_type};
use crate::shown::ShownRecord;
use crate::text::{clean, cut, encoded, part};

/// The maximum number of characters in the description of a failure on a page.
const MAX_DESCRIPTION: usize = 2000;
/// The value of Retry-After, in seconds, for a client that is refused because all slots are taken.
const RETRY_SECONDS: u16 = 2;

/// Returns an answer with the record in the first of `forms` in which it can be written. Fails if the record is damaged, or has
/// more than `most` octets in that form.
pub(super) fn of_record(
    layout: &PageLayout,
    most: usize,
    url: &Z3950Url,
    record: &Record,
    forms: &[Representation],
) -> Result<Response<WebBody>, GatewayFailure> {
    let fault = || with_sound_xml(record.external().clone()).err();
    if forms != [Representation::Raw]
        && let Some(why) = record.damage().or_else(|| Some(fault()?.to_string()))
    {
        return Err(GatewayFailure::damaged(&why));
    }
    let docid = url
        .docid()
        .map(|docid| docid.as_bytes().to_vec())
        .unwrap_or_default();
    let source = source(url);
    let content = forms.iter().find_map(|form| match form {
        Representation::Html => Some(page(layout, url, record)),
        form => content::of_record(record, &source, *form),
    });
    match content {
        Some(content) if content.octets.len() <= most => Ok(answer(&content, &docid)),
        Some(_) => Err(GatewayFailure::new(
            StatusCode::BAD_GATEWAY,
            "the record is larger than this gateway sends",
        )),
        None => Err(GatewayFailure::new(
            StatusCode::NOT_ACCEPTABLE,
            "the record has no form that the request accepts: &format=raw gives its octets",
        )),
    }
}

/// Returns a page with a record.
fn page(layout: &PageLayout, url: &Z3950Url, record: &Record) -> GatewayContent {
    let source = source(url);
    let possible =
        FileFormat::of_one_record().filter(|(format, _)| format.alone(record, &source).is_ok());
    let url = url.to_string();
    let downloads = possible.map(|(format, title)| {
        let link = format!("/get?url={}&format={}", encoded(&url), format.name);
        (title, link)
    });
    let downloads = downloads.collect();
    let search = |query: &str| format!("/search?q={}", encoded(query));
    let page = RecordPage {
        layout,
        record: ShownRecord::of(
            record,
            url,
            downloads,
            &|name| clean(part(name)),
            layout.has_search.then_some(&search),
        ),
    };
    GatewayContent::html(rendered(&page))
}

/// Returns the server and databases of a URL as text.
fn source(url: &Z3950Url) -> String {
    let databases: Vec<String> = url.databases().iter().map(ToString::to_string).collect();
    format!("{}:{}/{}", url.host(), url.port(), databases.join("+"))
}

/// Returns the answer for a failure, as a page, JSON or text, whichever the client accepts.
pub(super) fn failure_answer(
    layout: &PageLayout,
    failure: &GatewayFailure,
    accept: &Accept,
    form: Option<SearchForm>,
) -> Response<WebBody> {
    let words = cut(&failure.words, MAX_DESCRIPTION);
    let page = FailurePage {
        layout,
        title: failure.title(),
        words: &words,
        links: &failure.links,
        form,
    };
    let page = accept.names_html().then(|| rendered(&page));
    let (media_type, body) = match page {
        _ if accept.names_json() => (
            "application/problem+json",
            format!("{}\n", failure.to_json()),
        ),
        Some(page) => ("text/html; charset=utf-8", page),
        None => ("text/plain; charset=utf-8", failure.to_text()),
    };
    let mut response = with_type(failure.status, media_type, body);
    let headers = response.headers_mut();
    match failure.status {
        StatusCode::TOO_MANY_REQUESTS => {
            headers.insert(RETRY_AFTER, RETRY_SECONDS.into());
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        StatusCode::UNAUTHORIZED => {
            let challenge = HeaderValue::from_static("Basic realm=\"Z39.50\", charset=\"UTF-8\"");
            headers.insert(WWW_AUTHENTICATE, challenge);
        }
        _ => {}
    }
    response
}

/// Returns the HTTP answer with these contents.
pub(super) fn answer(content: &GatewayContent, docid: &[u8]) -> Response<WebBody> {
    let mut response = with_type(StatusCode::OK, content.media_type, content.octets.clone());
    if let Some(extension) = content.extension {
        let name = file_name(docid, extension);
        let value = HeaderValue::try_from(format!("attachment; filename=\"{name}\""));
        if let Ok(value) = value {
            response.headers_mut().insert(CONTENT_DISPOSITION, value);
        }
    }
    response
}

/// The template of the page with a record.
#[derive(Template)]
#[template(path = "gateway/record.html")]
struct RecordPage<'a> {
    layout: &'a PageLayout,
    record: ShownRecord,
}

/// The template of the page with a failure.
#[derive(Template)]
#[template(path = "gateway/failure.html")]
struct FailurePage<'a> {
    layout: &'a PageLayout,
    title: &'a str,
    words: &'a str,
    links: &'a [GatewayLink],
    /// A form that contains the URL, so that the user can correct it; `None` if there is no search page.
    form: Option<SearchForm>,
}
