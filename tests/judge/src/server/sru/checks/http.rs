//! Checks of the transport of requests and answers: methods, status codes, media types, character sets and connections (RFC 9110,
//! RFC 9112), and SOAP.

use hyper::Method;
use hyper::header::CONTENT_ENCODING;
use z3950_asn1::sru::{Request, SearchRetrieve, Version};

use super::super::answer::{HttpReply, JudgedReply};
use super::super::trial::{FORM, SOAP, SentRequest, SruTrial};
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Preparation, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "http.status" Shall all standard "RFC 9110 §15.3.1":
        "An answer has status 200."
        => status;
    "http.status.diagnostic" Practice any practice "clients look for diagnostics in answers with status 200":
        "An answer with a diagnostic about the query has status 200."
        => status_of_failure;
    "http.type" Should all standard "RFC 6207 §4":
        "An answer is text/xml, application/xml or application/sru+xml."
        => content_type;
    "http.charset" Shall all standard "XML 1.0 §4.3.3":
        "The octets are those of the character set that header and declaration name, without either in UTF-8."
        => charset;
    "http.charset.agree" Should any standard "RFC 7303 §3":
        "Header and declaration name the same character set."
        => charsets_agree;
    "http.encoding" Shall any standard "RFC 9110 §12.5.3":
        "An answer is not compressed if the client does not accept that."
        => encoding;
    "http.keep-alive" Practice any standard "RFC 9112 §9.3":
        "The connection stays open for the next request."
        => keep_alive;
    "http.post" Should all search "POST":
        "A search by a form finds the same as by the URL."
        => by_form;
    "http.post.utf-8" Should any search "POST":
        "A form in UTF-8 is read as UTF-8."
        => form_in_utf8;
    "http.soap" Should all soap "searchRetrieveRequest":
        "A search in SOAP finds the same as by the URL."
        => by_soap;
    "http.soap.envelope" Shall all standard "SOAP 1.1 §4":
        "The answer to a request in SOAP is an envelope with the response in its body."
        => envelope;
    "http.plus" Should any standard "RFC 1866 §8.2.1":
        "A blank in a parameter is written as %20 or +."
        => plus;
    "http.case" Shall any standard "RFC 3986 §6.2.2.1":
        "Percent-encoding in small letters is read like that in capitals."
        => small_letters;
    "http.empty-parameter" Practice any practice "forms of browsers send empty values":
        "A parameter without a value is as good as none, or gets a diagnostic."
        => empty_parameter;
    "http.method" Should any standard "RFC 9110 §15.5.6":
        "Another method is refused with 405 or 501."
        => other_method;
    "http.head" Should any standard "RFC 9110 §9.3.2":
        "HEAD is answered as GET without a body, or refused with 405 or 501."
        => head;
    "http.type.unknown" Should any standard "RFC 9110 §15.5.16":
        "A body of another type is refused with a status of 400 or more."
        => other_type;
    "http.path.unknown" Practice any practice "clients have to notice a wrong database":
        "A path that does not exist is refused, with a status or diagnostic 235."
        => other_path;
    "http.accept" Should new search "httpAccept":
        "httpAccept application/sru+xml is honoured, or refused with 6, 8 or status 406."
        => http_accept;
};

async fn plain(trial: &mut SruTrial, version: Version) -> Checked<JudgedReply> {
    let search = trial.search_for(version, &trial.query(0)?);
    trial.ask(&search).await
}

async fn status(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = plain(trial, version).await?;
    want(reply.http.status == 200, "status 200", || {
        reply.http.summary()
    })
}

async fn status_of_failure(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = trial.ask(&trial.search_for(version, "(a")).await?;
    if reply.diagnostics().is_empty() {
        return Err(Verdict::not_judged("no diagnostic came"));
    }
    want(reply.http.status == 200, "status 200", || {
        reply.http.summary()
    })
}

async fn content_type(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = plain(trial, version).await?;
    let known = ["text/xml", "application/xml", "application/sru+xml"];
    let holds = known.contains(&&*reply.http.media_type());
    want(holds, known.join(" or "), || reply.http.summary())
}

/// Returns the character set in the Content-Type header in lower case, or `None` if there is none.
fn of_header(http: &HttpReply) -> Option<String> {
    let value = http.content_type().to_ascii_lowercase();
    let (_, name) = value.split_once("charset=")?;
    let name = name.split(';').next().unwrap_or_default();
    Some(name.trim().trim_matches('"').to_owned())
}

async fn charset(trial: &mut SruTrial, version: Version) -> Checked {
    // The search requests records, because an answer that contains only the number of hits is unlikely to contain non-ASCII
    // characters.
    let search = trial.search_for(version, &trial.query(0)?);
    let reply = trial.ask(&search.with("maximumRecords", "10")).await?;
    let declared = reply
        .tree
        .encoding
        .as_ref()
        .map(|name| name.to_ascii_lowercase());
    let named = of_header(&reply.http).or(declared);
    let named = named.unwrap_or_else(|| "utf-8".to_owned());
    let body = &reply.http.body;
    let holds = match &*named {
        "utf-8" | "utf8" => std::str::from_utf8(body).is_ok(),
        "us-ascii" => body.is_ascii(),
        _ => true,
    };
    want(holds, format!("octets of {named}"), || "others".to_owned())
}

async fn charsets_agree(trial: &mut SruTrial, version: Version) -> Checked {
    let reply = plain(trial, version).await?;
    let declared = reply
        .tree
        .encoding
        .as_ref()
        .map(|name| name.to_ascii_lowercase());
    match (of_header(&reply.http), declared) {
        (Some(header), Some(declared)) => want(header == declared, header, || declared),
        _ => Ok(()),
    }
}

async fn encoding(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search_for(version, &trial.query(0)?);
    let message = SentRequest::get(trial.path_of(&search));
    let reply = trial.exchange(message).await?;
    let coding = reply.headers.get(CONTENT_ENCODING);
    let holds = coding.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"));
    want(holds, "no Content-Encoding", || {
        coding.map_or_else(String::new, |coding| {
            String::from_utf8_lossy(coding.as_bytes()).into()
        })
    })
}

async fn keep_alive(trial: &mut SruTrial, version: Version) -> Checked {
    plain(trial, version).await.given()?;
    want(trial.is_kept().await, "an open connection", || {
        "its end".to_owned()
    })
}

/// Ends the check if the status means that the method of the request is not supported.
fn offered(reply: &HttpReply) -> Checked {
    match reply.status {
        404 | 405 | 406 | 411 | 415 | 501 => Err(Verdict::not_offered(reply.summary())),
        _ => Ok(()),
    }
}

fn read(reply: HttpReply) -> Checked<JudgedReply> {
    Ok(JudgedReply::read(reply)?)
}

fn form(trial: &SruTrial, query: &str, version: Version) -> SentRequest {
    let search = trial.whole(&trial.search_for(version, query));
    SentRequest::post(trial.base(), FORM, search.encoded())
}

async fn by_form(trial: &mut SruTrial, version: Version) -> Checked {
    let by_url = trial.given(&trial.search(version)?).await?;
    let message = form(trial, &trial.query(1)?, version);
    let reply = trial.exchange(message).await?;
    offered(&reply)?;
    same(&by_url, &read(reply)?)
}

/// Fails unless both answers have the same number of hits and the same schema for the first record, if there is one.
fn same(one: &JudgedReply, other: &JudgedReply) -> Checked {
    let record = |reply: &JudgedReply| reply.records().is_empty();
    let first = |reply: &'_ JudgedReply| {
        reply
            .records()
            .first()
            .and_then(|record| record.text_of("recordSchema").map(str::to_owned))
    };
    let holds =
        one.hits() == other.hits() && record(one) == record(other) && first(one) == first(other);
    want(
        holds,
        format!("the same as by URL: {}", one.summary()),
        || other.summary(),
    )
}

async fn form_in_utf8(trial: &mut SruTrial, version: Version) -> Checked {
    let message = form(trial, "\"ü 龜\"", version);
    let reply = trial.exchange(message).await?;
    offered(&reply)?;
    let reply = read(reply)?;
    let echo = reply.root().child("echoedSearchRetrieveRequest");
    let echo = echo.and_then(|echo| echo.text_of("query"));
    let echo = echo.ok_or_else(|| Verdict::not_judged("requests are not echoed"))?;
    want(echo == "\"ü 龜\"", "the query as it was sent", || {
        format!("{echo:?}")
    })
}

fn soap(trial: &SruTrial, version: Version) -> Checked<SentRequest> {
    let mut search = SearchRetrieve::cql(trial.query(1)?);
    search.maximum_records = Some(1);
    let request = Request::new(version, search);
    Ok(SentRequest::post(trial.base(), SOAP, request.to_soap()))
}

async fn by_soap(trial: &mut SruTrial, version: Version) -> Checked {
    let by_url = trial.given(&trial.search(version)?).await?;
    let message = soap(trial, version)?;
    let reply = trial.exchange(message).await?;
    offered(&reply)?;
    same(&by_url, &read(reply)?)
}

async fn envelope(trial: &mut SruTrial, version: Version) -> Checked {
    let message = soap(trial, version)?;
    let reply = trial.exchange(message).await?;
    offered(&reply)?;
    let tree = super::super::tree::XmlTree::read(&reply.body);
    let root = tree.map(|tree| tree.root).unwrap_or_default();
    let soap = "http://schemas.xmlsoap.org/soap/envelope/";
    let body = root.child("Body");
    let holds = root.name == "Envelope"
        && root.namespace == soap
        && body.is_some_and(|body| body.namespace == soap && body.children.len() == 1);
    want(
        holds,
        "an Envelope with a Body and one element in it",
        || format!("{}, {}", reply.summary(), root.name),
    )
}

async fn plus(trial: &mut SruTrial, version: Version) -> Checked {
    let query = format!("({}) and ({})", trial.query(1)?, trial.query(1)?);
    let search = trial.search_for(version, &query);
    let encoded = trial.given(&search).await?;
    let path = trial.path_of(&search).replace("%20", "+");
    let reply = trial.ask_by(SentRequest::get(path)).await?;
    want(
        reply.hits() == encoded.hits(),
        "as many records as with %20",
        || reply.summary(),
    )
}

async fn small_letters(trial: &mut SruTrial, version: Version) -> Checked {
    let query = format!("({})", trial.query(1)?);
    let search = trial.search_for(version, &query);
    let wanted = trial.given(&search).await?;
    let path = trial.path_of(&search);
    let path = ["%2E", "%3D", "%28", "%29", "%20", "%22"]
        .iter()
        .fold(path, |path, code| {
            path.replace(code, &code.to_ascii_lowercase())
        });
    let reply = trial.ask_by(SentRequest::get(path)).await?;
    want(reply.hits() == wanted.hits(), "as many records", || {
        reply.summary()
    })
}

async fn empty_parameter(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?.with("recordSchema", "");
    let reply = trial.ask(&search).await?;
    let holds = !reply.records().is_empty() || !reply.diagnostics().is_empty();
    want(holds, "a record, or a diagnostic", || reply.summary())
}

/// Fails unless the HTTP status reports an error.
fn refused(reply: &HttpReply, wanted: &str) -> Checked {
    want(reply.status >= 400, wanted, || reply.summary())
}

async fn other_method(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?;
    let message = SentRequest {
        method: Method::DELETE,
        ..SentRequest::get(trial.path_of(&search))
    };
    let reply = trial.exchange(message).await?;
    refused(&reply, "status 405 or 501")
}

async fn head(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?;
    let message = SentRequest {
        method: Method::HEAD,
        ..SentRequest::get(trial.path_of(&search))
    };
    let reply = trial.exchange(message).await?;
    let holds = reply.status == 200 || matches!(reply.status, 405 | 501);
    want(holds, "status 200, 405 or 501", || reply.summary())
}

async fn other_type(trial: &mut SruTrial, _: Version) -> Checked {
    let message = SentRequest::post(trial.base(), "application/json", "{}");
    let reply = trial.exchange(message).await?;
    refused(&reply, "status 415, or another of 400 or more")
}

async fn other_path(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial.search(version)?;
    let path = format!("/z3950-conformance-none?{}", trial.whole(&search).encoded());
    let reply = trial.exchange(SentRequest::get(path)).await?;
    if reply.status >= 400 {
        return Ok(());
    }
    let reply = read(reply)?;
    want(
        !reply.diagnostics().is_empty(),
        "status 404, or diagnostic 235",
        || reply.summary(),
    )
}

async fn http_accept(trial: &mut SruTrial, version: Version) -> Checked {
    let search = trial
        .search(version)?
        .with("httpAccept", "application/sru+xml");
    let message = SentRequest::get(trial.path_of(&search));
    let reply = trial.exchange(message).await?;
    if reply.status == 406 {
        return Ok(());
    }
    let reply = read(reply)?.not_offered_if(&[6, 8])?;
    want(
        reply.http.media_type() == "application/sru+xml",
        "application/sru+xml",
        || reply.http.summary(),
    )
}
