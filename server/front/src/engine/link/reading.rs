//! A read-only link, which only sends a few kinds of requests. None of them changes anything, whatever the names of the
//! index and of its fields are.

use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use serde_json::Value;
use z3950::transport::TlsError;

use super::address::{ClusterAccess, ClusterAddress};
use super::{Draft, Failure, JSON, Link, ServerCounts};

/// The media type of a form.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// A kind of request that only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The description of an OpenSearch or Elasticsearch server.
    About,
    /// A search in OpenSearch or Elasticsearch.
    Search,
    /// The fields of an index.
    Mapping,
    /// The words into which an index splits a string.
    Analyze,
    /// A search in Solr.
    SolrSelect,
    /// Terms of a field in Solr.
    SolrTerms,
    /// The words into which Solr fields fold a string.
    SolrAnalysis,
    /// The schema of an index in Solr.
    SolrSchema,
}

impl Reading {
    fn method(self) -> Method {
        match self {
            Self::About | Self::Mapping | Self::SolrSchema => Method::GET,
            Self::Search | Self::Analyze => Method::POST,
            Self::SolrSelect | Self::SolrTerms | Self::SolrAnalysis => Method::POST,
        }
    }

    /// Returns the path, for an index or core.
    fn path(self, index: &str) -> String {
        match self {
            Self::About => "/".to_owned(),
            Self::Search => format!("/{index}/_search"),
            Self::Mapping => format!("/{index}/_mapping"),
            Self::Analyze => format!("/{index}/_analyze"),
            Self::SolrSelect => format!("/{index}/select"),
            Self::SolrTerms => format!("/{index}/terms"),
            Self::SolrAnalysis => format!("/{index}/analysis/field"),
            Self::SolrSchema => format!("/{index}/admin/luke"),
        }
    }
}

/// A link to the servers of a catalogue, for one index.
#[derive(Debug)]
pub(crate) struct ReadLink {
    link: Link,
    index: String,
}

impl ReadLink {
    /// Creates a link to the servers at these addresses, all of which have the same index. It does not connect yet.
    ///
    /// # Errors
    /// Fails if the certificates to trust cannot be used.
    pub(crate) fn new(
        addresses: &[ClusterAddress],
        access: &ClusterAccess,
        connections: usize,
        time: Duration,
    ) -> Result<Self, TlsError> {
        let index = addresses.first().map(|address| address.index.clone());
        Ok(Self {
            link: Link::with_access(addresses, access, connections, time)?,
            index: index.unwrap_or_default(),
        })
    }

    /// Sends a request with a JSON body, or without a body if the value is null. `query_string` is the text after
    /// `?`, and may be empty.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn ask(
        &self,
        reading: Reading,
        query_string: &str,
        body: &Value,
        limit_octets: usize,
    ) -> Result<Value, Failure> {
        let body = match body {
            Value::Null => Bytes::new(),
            body => Bytes::from(body.to_string()),
        };
        self.send(reading, query_string, body, JSON, limit_octets)
            .await
    }

    /// Sends a request with a body of this media type.
    ///
    /// # Errors
    /// See [`Failure`].
    pub(crate) async fn send(
        &self,
        reading: Reading,
        query_string: &str,
        body: Bytes,
        content_type: &'static str,
        limit_octets: usize,
    ) -> Result<Value, Failure> {
        let mut path = reading.path(&self.index);
        if !query_string.is_empty() {
            path.push('?');
            path.push_str(query_string);
        }
        let draft = Draft {
            method: reading.method(),
            content_type,
            body,
            ..Draft::read(path, limit_octets)
        };
        self.link.ask(&draft).await
    }

    /// Returns the number of failed requests for each server, and whether it answered the last request.
    pub(crate) fn counts(&self) -> Vec<ServerCounts> {
        self.link.counts()
    }

    /// Returns the name of the index or core.
    pub(crate) fn index(&self) -> &str {
        &self.index
    }
}
