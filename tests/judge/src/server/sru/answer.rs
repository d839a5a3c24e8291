//! An SRU answer as it was received: its status, its headers, and the contents of its XML.

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use z3950_asn1::sru::{DIAGNOSTIC_SET, Version};

use super::tree::{XmlNode, XmlTree};
use crate::server::verdict::{Checked, Verdict, counted, want};

/// An HTTP answer.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// An SRU answer.
#[derive(Debug)]
pub(super) struct JudgedReply {
    pub(super) http: HttpReply,
    pub(super) tree: XmlTree,
}

/// An HTTP answer that cannot be parsed as XML, with the reason.
#[derive(Debug)]
pub(super) struct Unread {
    pub(super) http: HttpReply,
    pub(super) fault: String,
}

impl From<Box<Unread>> for Verdict {
    fn from(unread: Box<Unread>) -> Self {
        let came = format!("{}: {}", unread.http.summary(), unread.fault);
        Self::fail("an answer of SRU in XML", came)
    }
}

/// A diagnostic in an answer.
#[derive(Debug)]
pub(super) struct Reported<'a> {
    pub(super) uri: &'a str,
    pub(super) details: &'a str,
    pub(super) message: &'a str,
}

impl Reported<'_> {
    /// Returns the number of the diagnostic if it is in SRU's list of diagnostics.
    pub(super) fn number(&self) -> Option<u16> {
        self.uri.strip_prefix(DIAGNOSTIC_SET)?.parse().ok()
    }
}

impl HttpReply {
    /// Returns the value of the Content-Type header, or an empty string if it is missing.
    pub(super) fn content_type(&self) -> String {
        let value = self.headers.get(CONTENT_TYPE);
        value.map_or_else(String::new, |value| {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        })
    }

    /// Returns the media type in lower case, without parameters.
    pub(super) fn media_type(&self) -> String {
        let value = self.content_type();
        let essence = value.split(';').next().unwrap_or_default();
        essence.trim().to_ascii_lowercase()
    }

    /// Formats the HTTP status, the Content-Type and the length of the body for use in messages.
    pub(super) fn summary(&self) -> String {
        format!(
            "status {}, {:?}, {}",
            self.status,
            self.content_type(),
            counted(self.body.len(), "octet")
        )
    }
}

impl JudgedReply {
    /// Reads the XML of an answer, with or without a SOAP envelope.
    ///
    /// # Errors
    /// The answer is not well-formed XML; the error contains the reason.
    pub(super) fn read(http: HttpReply) -> Result<Self, Box<Unread>> {
        match XmlTree::read(&http.body) {
            Ok(mut tree) => {
                if tree.root.name == "Envelope"
                    && let Some(body) = tree.root.children.pop()
                    && let Some(content) = body.children.into_iter().next()
                {
                    tree.root = content;
                }
                Ok(Self { http, tree })
            }
            Err(fault) => Err(Box::new(Unread { http, fault })),
        }
    }

    pub(super) fn root(&self) -> &XmlNode {
        &self.tree.root
    }

    /// Returns whether the root element of the answer has the name `response`.
    pub(super) fn is(&self, response: &str) -> bool {
        self.root().name == response
    }

    /// Returns whether the namespaces and the element `version` of the answer match this version. An answer without a version is
    /// assumed to have the requested version, because other checks cover the missing element.
    pub(super) fn is_in(&self, version: Version) -> bool {
        let root = self.root();
        let is_new = root.namespace.contains("search-ws");
        let named = root.text_of("version").filter(|text| !text.is_empty());
        match version {
            Version::V2_0 => is_new,
            old => !is_new && named.is_none_or(|named| named == old.as_str()),
        }
    }

    /// Returns numberOfRecords, or `None` if it is missing or invalid.
    pub(super) fn hits(&self) -> Option<u64> {
        self.number("numberOfRecords")
    }

    /// Returns the number in a child element of the root, or `None` if the element is missing or does not contain a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.root().text_of(name)?.parse().ok()
    }

    /// Returns the records, including surrogate diagnostics.
    pub(super) fn records(&self) -> &[XmlNode] {
        self.root().list("records")
    }

    /// Returns the terms of a scan.
    pub(super) fn terms(&self) -> &[XmlNode] {
        self.root().list("terms")
    }

    /// Returns the values of the terms.
    pub(super) fn values(&self) -> Vec<&str> {
        let terms = self.terms().iter();
        terms.filter_map(|term| term.text_of("value")).collect()
    }

    /// Returns the non-surrogate diagnostics.
    pub(super) fn diagnostics(&self) -> Vec<Reported<'_>> {
        let listed = self.root().list("diagnostics").iter();
        listed.map(reported).collect()
    }

    /// Returns whether the answer contains a diagnostic with one of these numbers.
    pub(super) fn has_diagnostic(&self, numbers: &[u16]) -> bool {
        let mut found = self.diagnostics().into_iter();
        found.any(|one| one.number().is_some_and(|number| numbers.contains(&number)))
    }

    /// Formats the answer on one line for messages.
    pub(super) fn summary(&self) -> String {
        let mut words = vec![self.root().name.clone()];
        for name in ["version", "numberOfRecords", "nextRecordPosition"] {
            if let Some(text) = self.root().text_of(name) {
                words.push(format!("{name} {text:?}"));
            }
        }
        if !self.records().is_empty() {
            words.push(counted(self.records().len(), "record"));
        }
        if !self.terms().is_empty() {
            words.push(format!("terms {:?}", self.values()));
        }
        for one in self.diagnostics() {
            words.push(format!("diagnostic {}", shown(&one)));
        }
        if self.http.status != 200 {
            words.push(format!("status {}", self.http.status));
        }
        shortened(&words.join(", "))
    }

    /// Fails if the request was refused.
    pub(super) fn accepted(self) -> Checked<Self> {
        let summary = self.summary();
        want(
            self.diagnostics().is_empty(),
            "an answer without diagnostics",
            || summary,
        )?;
        Ok(self)
    }

    /// Ends the check with the verdict "not offered" if the request was refused with one of these diagnostics, which mean that a
    /// feature is not available.
    pub(super) fn not_offered_if(self, numbers: &[u16]) -> Checked<Self> {
        let found = self.diagnostics().into_iter().find(|one| {
            let number = one.number();
            number.is_some_and(|number| numbers.contains(&number))
        });
        match found {
            Some(one) => Err(Verdict::not_offered(format!("diagnostic {}", shown(&one)))),
            None => Ok(self),
        }
    }

    /// Fails unless the request was refused with one of these diagnostics, or with any diagnostic if the list is empty.
    pub(super) fn refused_with(&self, numbers: &[u16]) -> Checked {
        let wanted = match numbers {
            [] => "a diagnostic".to_owned(),
            numbers => {
                let words: Vec<String> = numbers.iter().map(u16::to_string).collect();
                format!("diagnostic {}", words.join(" or "))
            }
        };
        let holds = match numbers {
            [] => !self.diagnostics().is_empty(),
            numbers => self.has_diagnostic(numbers),
        };
        want(holds, wanted, || self.summary())
    }

    /// Returns numberOfRecords. Fails if it is missing or invalid.
    pub(super) fn counted(&self) -> Checked<u64> {
        let hits = self.hits();
        hits.ok_or_else(|| Verdict::fail("numberOfRecords, a number", self.summary()))
    }
}

fn reported(node: &XmlNode) -> Reported<'_> {
    let text = |name| node.text_of(name).unwrap_or_default();
    Reported {
        uri: text("uri"),
        details: text("details"),
        message: text("message"),
    }
}

fn shown(one: &Reported<'_>) -> String {
    let name = match one.number() {
        Some(number) => number.to_string(),
        None => format!("{:?}", one.uri),
    };
    match one.details {
        "" => name,
        details => format!("{name} {details:?}"),
    }
}

/// The maximum number of characters that a message quotes from an answer.
const MAX_SUMMARY: usize = 400;

/// Shortens text for a message.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_SUMMARY) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// Returns the root element of a record's data if the data is escaped XML, or `None` if the data consists of elements or is not
/// well-formed.
pub(super) fn data_of(record: &XmlNode) -> Option<XmlNode> {
    let data = record.child("recordData")?;
    let text = data.text();
    if data.children.is_empty() && !text.is_empty() {
        XmlTree::read(text.as_bytes()).ok().map(|tree| tree.root)
    } else {
        None
    }
}
