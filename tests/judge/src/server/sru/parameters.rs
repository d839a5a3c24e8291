//! A request as a list of names and values in the order in which they are sent (SRU 1.1 and 1.2 "Request Parameters", and the
//! corresponding section of SRU 2.0).

use std::fmt::Write as _;

use z3950_asn1::sru::Version;

/// The parameters of a request: names and values.
#[derive(Clone, Debug)]
pub(super) struct SruParameters {
    pairs: Vec<(String, String)>,
}

impl SruParameters {
    /// Returns a search for the first record of a query. The parameters version and operation do not exist in 2.0, but if
    /// `names_version` is true, they are sent for servers that require them.
    pub(super) fn search(version: Version, names_version: bool, query: &str) -> Self {
        Self::operation(version, names_version, "searchRetrieve")
            .with("query", query)
            .with("maximumRecords", "1")
    }

    /// Returns a scan of five terms.
    pub(super) fn scan(version: Version, names_version: bool, clause: &str) -> Self {
        Self::operation(version, names_version, "scan")
            .with("scanClause", clause)
            .with("maximumTerms", "5")
    }

    /// Returns an explain request.
    pub(super) fn explain(version: Version, names_version: bool) -> Self {
        Self::operation(version, names_version, "explain")
    }

    fn operation(version: Version, names_version: bool, operation: &str) -> Self {
        let new = Self { pairs: Vec::new() };
        if version == Version::V2_0 && !names_version {
            new
        } else {
            new.with("version", version.as_str())
                .with("operation", operation)
        }
    }

    /// Sets the value of a parameter, adding the parameter if necessary.
    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        let value = value.into();
        match self.pairs.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.pairs.push((name.to_owned(), value)),
        }
        self
    }

    /// Adds a parameter, even if there already is a parameter with this name.
    pub(super) fn adding(mut self, name: &str, value: &str) -> Self {
        self.pairs.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Removes a parameter.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.pairs.retain(|(known, _)| known != name);
        self
    }

    /// Reverses the order of the parameters.
    pub(super) fn reversed(mut self) -> Self {
        self.pairs.reverse();
        self
    }

    /// Returns the value of a parameter, or `None` if it is not sent.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let mut pairs = self.pairs.iter();
        let found = pairs.find(|(known, _)| known == name);
        found.map(|(_, value)| &**value)
    }

    pub(super) fn pairs(&self) -> &[(String, String)] {
        &self.pairs
    }

    /// Encodes the parameters as the query string of a URL or as a form.
    pub(super) fn encoded(&self) -> String {
        let pairs = self.pairs.iter();
        let pairs = pairs.map(|(name, value)| format!("{}={}", escaped(name), escaped(value)));
        pairs.collect::<Vec<_>>().join("&")
    }
}

/// Percent-encodes all characters other than unreserved ones (RFC 3986 §2.3).
pub(in crate::server) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(octet));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(escaped, "%{octet:02X}")),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_in_their_names() {
        for (version, names_version, expected) in [
            (
                Version::V1_1,
                false,
                "version=1.1&operation=searchRetrieve&query=a%20b&maximumRecords=1",
            ),
            (Version::V2_0, false, "query=a%20b&maximumRecords=1"),
            (
                Version::V2_0,
                true,
                "version=2.0&operation=searchRetrieve&query=a%20b&maximumRecords=1",
            ),
        ] {
            let search = SruParameters::search(version, names_version, "a b");
            assert_eq!(search.encoded(), expected);
        }
        let search = SruParameters::search(Version::V2_0, false, "ü");
        let search = search
            .with("maximumRecords", "2")
            .adding("query", "&")
            .without("z");
        assert_eq!(search.encoded(), "query=%C3%BC&maximumRecords=2&query=%26");
        assert_eq!(search.value("maximumRecords"), Some("2"));
    }
}
