//! Checks with requests that the standards forbid. Afterwards, the server must still answer, and the requests must not have had
//! an effect. These checks need the user's permission.

use hyper::Method;
use z3950_asn1::sru::Version;

use super::super::trial::{FORM, SOAP, SentRequest, SruTrial};
use super::{source, sru_checks};
use crate::server::check::Check;
use crate::server::verdict::{Checked, Preparation, Verdict, want};

pub(super) const CHECKS: &[&[Check]] = sru_checks! {
    "hostile.garbage" Shall any standard "RFC 9112 §2.2":
        "Octets that are not HTTP are not answered with status 200, and the server goes on."
        => octets(b"\xff\xfe\x00garbage\r\n\r\n");
    "hostile.no-host" Should any standard "RFC 9112 §3.2":
        "A request of HTTP/1.1 without Host is refused with 400, and the server goes on."
        => no_host;
    "hostile.version" Should any standard "RFC 9112 §2.6":
        "A request of HTTP/9.9 is not answered with status 200, and the server goes on."
        => octets(b"GET / HTTP/9.9\r\nHost: a\r\n\r\n");
    "hostile.header" Should any standard "RFC 9112 §5.1":
        "A header with a blank before its colon is refused, and the server goes on."
        => octets(b"GET / HTTP/1.1\r\nHost : a\r\nHost: a\r\n\r\n");
    "hostile.two-lengths" Shall any standard "RFC 9112 §6.3":
        "Two different lengths are refused, and the server goes on."
        => octets(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab");
    "hostile.long-header" Shall any standard "RFC 6585 §5":
        "A header of a mebibyte is refused, and the server goes on."
        => long_header;
    "hostile.cut-body" Shall any standard "RFC 9112 §8":
        "After a body that is cut short the server goes on."
        => after(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 999\r\n\r\nquery=a");
    "hostile.long-query" Shall any diagnostic "12":
        "A query of a mebibyte gets a diagnostic or a status, and the server goes on."
        => long_query;
    "hostile.deep-query" Shall any cql "parentheses":
        "A query of 5000 parentheses gets an answer, and the server goes on."
        => deep_query;
    "hostile.many-booleans" Shall any diagnostic "38":
        "A query of 5000 booleans gets an answer, and the server goes on."
        => many_booleans;
    "hostile.utf-8" Shall any standard "RFC 3629 §3":
        "A query that is no UTF-8 leads to an answer in XML, and the server goes on."
        => raw_query("%FF%FE%C3");
    "hostile.nul" Shall any standard "XML 1.0 §2.2":
        "A query with the character 0 leads to an answer in XML, and the server goes on."
        => raw_query("a%00b");
    "hostile.percent" Should any standard "RFC 3986 §2.1":
        "A query with a bad percent sign leads to an answer, and the server goes on."
        => raw_query("a%ZZ%");
    "hostile.control" Shall any standard "XML 1.0 §2.2":
        "A query with control characters leads to an answer in XML, and the server goes on."
        => raw_query("a%01%1B%7F");
    "hostile.many-parameters" Shall any search "request":
        "A request with 2000 parameters leads to an answer, and the server goes on."
        => many_parameters;
    "hostile.repeated" Should any diagnostic "6":
        "A parameter given twice leads to an answer, and the server goes on."
        => repeated;
    "hostile.soap.malformed" Shall any standard "SOAP 1.1 §4.4":
        "SOAP that is not well-formed gets a fault or a status of 400 or more, and the server goes on."
        => soap("<a><b></a>");
    "hostile.soap.entities" Shall any standard "SOAP 1.1 §3":
        "SOAP with a document type gets a fault or a status of 400 or more, and the server goes on."
        => soap("<!DOCTYPE a [<!ENTITY b \"c\"><!ENTITY d \"&b;&b;&b;&b;\">]><a>&d;&d;</a>");
    "hostile.soap.deep" Shall any standard "SOAP 1.1 §4":
        "SOAP with elements 5000 deep gets a fault or a status of 400 or more, and the server goes on."
        => deep_soap;
    "hostile.hang-up" Shall any standard "RFC 9112 §9.5":
        "After a client that hangs up within a request the server goes on."
        => after(b"GET /?query=a HTTP/1.1\r\nHos");
};

/// Fails unless the server still answers.
async fn goes_on(trial: &mut SruTrial, version: Version) -> Checked {
    trial.hang_up();
    let search = trial.search_for(version, &trial.query(0)?);
    let reply = trial.ask(&search).await;
    match reply {
        Ok(reply) if reply.hits().is_some() || !reply.diagnostics().is_empty() => Ok(()),
        Ok(reply) => Err(Verdict::fail(
            "a server that still answers",
            reply.summary(),
        )),
        Err(Verdict::Fail { came, .. } | Verdict::NotJudged { reason: came }) => {
            Err(Verdict::fail("a server that still answers", came))
        }
        Err(other) => Err(other),
    }
}

/// The maximum number of octets that are read from the answer to an invalid request.
const MOST: usize = 64 << 10;

async fn octets(trial: &mut SruTrial, version: Version, octets: &[u8]) -> Checked {
    goes_on(trial, version).await.given()?;
    let came = trial.send_octets(octets, MOST).await?;
    let is_accepted = came.starts_with(b"HTTP/1.1 200") || came.starts_with(b"HTTP/1.0 200");
    want(!is_accepted, "no status 200", || "status 200".to_owned())?;
    goes_on(trial, version).await
}

async fn after(trial: &mut SruTrial, version: Version, octets: &[u8]) -> Checked {
    goes_on(trial, version).await.given()?;
    trial.send_and_hang_up(octets).await?;
    goes_on(trial, version).await
}

async fn no_host(trial: &mut SruTrial, version: Version) -> Checked {
    let line = format!("GET {} HTTP/1.1\r\n\r\n", trial.base());
    octets(trial, version, line.as_bytes()).await
}

async fn long_header(trial: &mut SruTrial, version: Version) -> Checked {
    let line = format!(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    octets(trial, version, line.as_bytes()).await
}

/// Sends a query as a form. Fails unless the server answers, with any status, and then continues to answer searches.
async fn in_form(trial: &mut SruTrial, version: Version, query: &str) -> Checked {
    goes_on(trial, version).await.given()?;
    let search = trial.whole(&trial.search_for(version, query));
    let message = SentRequest::post(trial.base(), FORM, search.encoded());
    trial.exchange(message).await?;
    goes_on(trial, version).await
}

async fn long_query(trial: &mut SruTrial, version: Version) -> Checked {
    in_form(trial, version, &"a".repeat(1 << 20)).await
}

async fn deep_query(trial: &mut SruTrial, version: Version) -> Checked {
    let query = format!("{}a{}", "(".repeat(5000), ")".repeat(5000));
    in_form(trial, version, &query).await
}

async fn many_booleans(trial: &mut SruTrial, version: Version) -> Checked {
    in_form(trial, version, &vec!["a"; 5000].join(" or ")).await
}

/// Sends a query without percent-encoding it, because no encoded query would produce these octets.
async fn raw_query(trial: &mut SruTrial, version: Version, query: &str) -> Checked {
    goes_on(trial, version).await.given()?;
    let search = trial.search_for(version, "Z3950CONFORMANCE");
    let path = trial.path_of(&search).replace("Z3950CONFORMANCE", query);
    let reply = trial.exchange(SentRequest::get(path)).await?;
    if reply.status < 400 {
        let read = super::super::tree::XmlTree::read(&reply.body);
        let is_xml = read.is_ok() && std::str::from_utf8(&reply.body).is_ok();
        let has_control = reply
            .body
            .iter()
            .any(|octet| *octet < 0x20 && !b"\t\r\n".contains(octet));
        want(
            is_xml && !has_control,
            "XML, or a status of 400 or more",
            || reply.summary(),
        )?;
    }
    goes_on(trial, version).await
}

async fn many_parameters(trial: &mut SruTrial, version: Version) -> Checked {
    goes_on(trial, version).await.given()?;
    let search = trial.whole(&trial.search_for(version, &trial.query(0)?));
    let many = (0..2000).fold(search, |search, number| {
        search.adding(&format!("x-{number}"), "1")
    });
    let message = SentRequest::post(trial.base(), FORM, many.encoded());
    trial.exchange(message).await?;
    goes_on(trial, version).await
}

async fn repeated(trial: &mut SruTrial, version: Version) -> Checked {
    goes_on(trial, version).await.given()?;
    let search = trial
        .search_for(version, &trial.query(0)?)
        .adding("query", "b");
    trial.ask(&search).await?;
    goes_on(trial, version).await
}

async fn soap(trial: &mut SruTrial, version: Version, content: &str) -> Checked {
    goes_on(trial, version).await.given()?;
    // A server that does not support SOAP may refuse the request in any way.
    let message = SentRequest {
        method: Method::POST,
        ..SentRequest::post(trial.base(), SOAP, content.to_owned())
    };
    let reply = trial.exchange(message).await?;
    let read = super::super::answer::JudgedReply::read(reply);
    let (is_refused, came) = match &read {
        Ok(reply) => (
            reply.http.status >= 400 || reply.is("Fault") || !reply.diagnostics().is_empty(),
            reply.http.summary(),
        ),
        Err(unread) => (unread.http.status >= 400, unread.http.summary()),
    };
    want(is_refused, "a fault, or a status of 400 or more", || came)?;
    goes_on(trial, version).await
}

async fn deep_soap(trial: &mut SruTrial, version: Version) -> Checked {
    let content = format!("{}{}", "<a>".repeat(5000), "</a>".repeat(5000));
    soap(trial, version, &content).await
}
