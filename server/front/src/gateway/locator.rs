//! Reads the URL from a request. It is the parameter `url` of `/get`, the path after the gateway's own address, or the complete
//! request target (RFC 1630; RFC 9112 §3.2.2).

use z3950::url::{GopherUrl, Kind, Locator, Mode, Url, Z3950Url, generic};
use z3950_server::web::http::Uri;
use z3950_server::web::is_sru;

use crate::text::decoded;

/// The path that takes the URL as a parameter.
const GET: &str = "/get";
/// The supported schemes.
const SCHEMES: [&str; 3] = ["z39.50r", "z39.50s", "gopher"];

/// A URL to be followed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NamedUrl {
    /// The URL of a record.
    Record(Z3950Url),
    /// The URL of databases to be searched.
    Databases(Z3950Url),
    /// The URL of an item on a Gopher server.
    Gopher(GopherUrl),
}

/// The URL in a request, and the options for the answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GatewayRequest {
    pub(super) url: NamedUrl,
    /// The parameter `format`.
    pub(super) format: Option<String>,
    /// Whether the URL is the complete request target. The Host header then repeats the host in the URL (RFC 9112 §3.2.2), so it
    /// must not be taken for a name of the gateway.
    pub(super) is_whole_target: bool,
}

/// Returns whether a request target is for the gateway, which follows the URL in it or refuses to.
pub(super) fn is_for_gateway(target: &Uri) -> bool {
    match target.scheme_str() {
        // The target of a request for this server itself may be an absolute URL (RFC 9112 §3.2.2).
        Some(scheme) => !["http", "https"].contains(&scheme),
        None if target.path() == GET => !is_sru(target.query().unwrap_or_default()),
        None => in_path(target).is_some(),
    }
}

/// Parses a request target.
///
/// # Errors
/// Fails if the target does not contain a URL that can be followed; the message says why.
pub(super) fn read(target: &Uri) -> Result<GatewayRequest, String> {
    let (text, format) = match (target.scheme(), in_path(target)) {
        (Some(_), _) => (target.to_string(), None),
        (None, Some(text)) => (text, None),
        (None, None) => {
            let query = target.query().unwrap_or_default();
            let url = parameter(query, "url")?;
            let missing = "the parameter url is missing: /get?url=z39.50r://host/database?docid";
            (url.ok_or(missing)?, parameter(query, "format")?)
        }
    };
    Ok(GatewayRequest {
        url: named(text.trim_matches(' '))?,
        format,
        is_whole_target: target.scheme().is_some(),
    })
}

/// Returns the URL as it is written in a request target; `None` for a target without a URL.
pub(super) fn text(target: &Uri) -> Option<String> {
    match target.scheme() {
        Some(_) => Some(target.to_string()),
        None => in_path(target).or_else(|| {
            let query = target.query().unwrap_or_default();
            parameter(query, "url").ok().flatten()
        }),
    }
}

fn named(text: &str) -> Result<NamedUrl, String> {
    let locator = Locator::parse(text, Mode::Lenient).map_err(|error| error.to_string())?;
    if locator.userinfo().is_some() {
        return Err("user and password of a URL are not sent: leave them out".to_owned());
    }
    let scheme = locator.scheme().to_owned();
    match locator.into_url() {
        Url::Z3950(url) if url.kind() == Kind::Session => Ok(NamedUrl::Databases(url)),
        Url::Z3950(url) if url.docid().is_none() => {
            Err("the URL names no record: it ends with ?docid".to_owned())
        }
        Url::Z3950(url) => Ok(NamedUrl::Record(url)),
        Url::Gopher(url) => Ok(NamedUrl::Gopher(url)),
        _ => Err(format!(
            "{scheme}: is not carried out here, only z39.50r:, z39.50s: and gopher:"
        )),
    }
}

/// Returns the URL in a path. Some proxies merge the two slashes in the URL into one, so one slash is accepted.
fn in_path(target: &Uri) -> Option<String> {
    let path = target.path().strip_prefix('/')?;
    let (scheme, rest) = scheme_of(path)?;
    let slashes = if rest.starts_with('/') { "//" } else { "" };
    let rest = rest.trim_start_matches('/');
    let query = target
        .query()
        .map(|query| format!("?{query}"))
        .unwrap_or_default();
    Some(format!("{scheme}:{slashes}{rest}{query}"))
}

/// Returns whether the path of a database with this name would belong to the gateway: it is `/get`, or begins like a URL.
pub(super) fn is_path(name: &str) -> bool {
    let is_get = GET
        .strip_prefix('/')
        .is_some_and(|get| name.eq_ignore_ascii_case(get));
    is_get || scheme_of(name).is_some()
}

/// Splits a string after the colon of its scheme, if it begins like a URL: with a supported scheme, with any scheme and a
/// slash, or with a scheme whose URLs need no slash, such as `news:`.
fn scheme_of(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = generic::split(text)?;
    let is_supported = SCHEMES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(scheme));
    let is_url = is_supported
        || rest.starts_with('/')
        || Locator::parse(text, Mode::Lenient)
            .is_ok_and(|locator| !matches!(locator.url(), Url::Other(_)));
    is_url.then_some((scheme, rest))
}

/// Returns the decoded value of a parameter. A plus sign is not decoded as a space: no URL contains a space, but many contain a
/// plus sign that was not escaped.
fn parameter(query: &str, name: &str) -> Result<Option<String>, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut values = pairs.filter(|(known, _)| *known == name);
    let Some((_, value)) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(format!("there are several parameters {name}"));
    }
    // An HTML form encodes the spaces around a pasted URL as plus signs.
    let value = match value.strip_prefix('+') {
        Some(rest) => rest.trim_matches('+'),
        None => value,
    };
    let value = decoded(value);
    Some(value.map_err(|why| format!("the parameter {name}: {why}"))).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &str) -> Result<GatewayRequest, String> {
        read(&target.parse().expect("a request target"))
    }

    #[test]
    fn urls_are_found_in_every_form_of_request() {
        for (target, url) in [
            (
                "/get?url=z39.50r%3A%2F%2Flib.example%2Fa%2Bb%3Fid7%3Brs%3Dmarc",
                "z39.50r://lib.example/a+b?id7;rs=marc",
            ),
            (
                "/get?format=json&url=z39.50r://lib.example/a+b?id7;rs=marc",
                "z39.50r://lib.example/a+b?id7;rs=marc",
            ),
            ("/get?url=+z39.50r://h/d?id%2520+", "z39.50r://h/d?id%20"),
            ("/get?url=z39.50r://h/d?c++", "z39.50r://h/d?c%2B%2B"),
            ("/z39.50r://h/d?c++", "z39.50r://h/d?c%2B%2B"),
            ("z39.50r://h/d?c%2B", "z39.50r://h/d?c%2B"),
            (
                "/z39.50r://lib.example:2100/b%2Fc?id%207;esn=f",
                "z39.50r://lib.example:2100/b%2Fc?id%207;esn=f",
            ),
            ("/z39.50r:/lib.example/b?id", "z39.50r://lib.example/b?id"),
            ("/Z39.50R://lib.example/b?id", "z39.50r://lib.example/b?id"),
            (
                "z39.50r://127.0.0.1:2100/books?pg1342;rs=marc",
                "z39.50r://127.0.0.1:2100/books?pg1342;rs=marc",
            ),
            ("/z39.50r://[::1]:210/b?id", "z39.50r://[::1]/b?id"),
        ] {
            assert!(
                is_for_gateway(&target.parse().expect("a target")),
                "{target}"
            );
            let asked = request(target).expect(target);
            let NamedUrl::Record(found) = &asked.url else {
                panic!("{target}: {asked:?}")
            };
            assert_eq!(found.canonical(), url, "{target}");
            assert_eq!(asked.is_whole_target, !target.starts_with('/'));
            assert_eq!(asked.format.is_some(), target.contains("format="));
        }
        let databases = request("z39.50s://lib.example").expect("a session");
        assert!(matches!(databases.url, NamedUrl::Databases(_)));
        let gopher = request("/gopher:/lib.example/0/a").expect("gopher");
        assert!(matches!(gopher.url, NamedUrl::Gopher(_)));
    }

    #[test]
    fn other_requests_are_not_for_the_gateway() {
        for (target, expected) in [
            ("/", false),
            ("/books?query=war", false),
            ("/get?operation=explain", false),
            ("/get", true),
            ("/get/", false),
            ("http://lib.example/get", false),
            ("http://lib.example/", false),
            ("/z39.50r", false),
            ("/z39.50x://lib.example/", true),
            ("/http://lib.example/", true),
            ("/HTTP:/lib.example/", true),
            ("/mailto:ann@lib.example", true),
            ("/x-foo:bar", false),
            ("/12:30/", false),
            ("ftp://lib.example/x", true),
            ("https://lib.example/", false),
        ] {
            let target = target.parse().expect("a target");
            assert_eq!(is_for_gateway(&target), expected, "{target}");
        }
    }

    #[test]
    fn unsupported_requests_are_refused_with_a_message() {
        for (target, words) in [
            ("/get", "the parameter url is missing"),
            ("/get?url=%zz", "hexadecimal digits"),
            ("/get?url=%ff", "UTF-8"),
            ("/get?url=a&url=b", "several parameters url"),
            ("/get?url=http://lib.example/", "http: is not carried out"),
            ("/get?url=pg1342", "character"),
            ("ftp://lib.example/x", "ftp: is not carried out"),
            ("/ftp://lib.example/x", "ftp: is not carried out"),
            ("/http://lib.example/", "http: is not carried out"),
            ("/https:/lib.example/", "https: is not carried out"),
            ("/wais://lib.example/db", "wais: is not carried out"),
            ("/mailto:ann@lib.example", "mailto: is not carried out"),
            ("/z39.50x://lib.example/", "z39.50x: is not carried out"),
            ("/z39.50r://lib.example/b", "names no record"),
            ("/z39.50r://ann:x@lib.example/b?id", "user and password"),
            (
                "/get?url=z39.50r://ann@lib.example/b?id",
                "user and password",
            ),
            ("/gopher://ann:x@lib.example/", "character"),
            ("/z39.50r://0177.0.0.1/b?id", "character"),
            ("/z39.50r://2130706433/b?id", "character"),
            ("/z39.50r://0x7f.1/b?id", "character"),
            ("/z39.50r://127.1/b?id", "character"),
            ("/z39.50r://[fe80::1%25eth0]/b?id", "character"),
            ("/z39.50r://lib.example:0/b?id", "character"),
            ("/z39.50r://lib.example:99999/b?id", "character"),
        ] {
            let error = request(target).expect_err(target);
            assert!(error.contains(words), "{target}: {error}");
        }
    }
}
