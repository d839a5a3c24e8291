//! Converts a request to names and values, in the order of the schemas: for a URL or a form, for SOAP, and for the echo
//! in a response.

use std::borrow::Cow;

use super::encoding::join;
use super::{FacetParameters, QueryType, Request, SruOperation};
use crate::sru::{Packing, Version};

/// The name and value of a parameter.
pub(in crate::sru) type Field<'a> = (Cow<'a, str>, Cow<'a, str>);

impl Request {
    /// Returns the request as a form, or as the query string of a URL without `?`. An update cannot be expressed in
    /// this way, only in SOAP.
    pub fn to_parameters(&self) -> String {
        let begin = [
            ("version", self.version.as_str()),
            ("operation", self.operation.name()),
        ];
        let mut fields = Vec::new();
        fields.extend(begin.map(|(name, value)| (Cow::from(name), Cow::from(value))));
        self.put_fields(&mut fields);
        if let Some(login) = &self.login {
            fields.push(("x-username".into(), (&*login.user).into()));
            fields.push(("x-password".into(), (&*login.password).into()));
        }
        let extra = self.extra.iter();
        fields.extend(extra.map(|(name, value)| ((&**name).into(), (&**value).into())));
        join(fields)
    }

    /// Adds the parameters of the request, except version, operation, login and extra parameters.
    pub(in crate::sru) fn put_fields<'a>(&'a self, fields: &mut Vec<Field<'a>>) {
        let mut put = Put {
            is_new: self.version == Version::V2_0,
            fields,
        };
        match &self.operation {
            SruOperation::SearchRetrieve(search) => {
                put.query(&search.query_type, ["query", "x-pquery"], &search.query);
                put.number("startRecord", search.start_record);
                put.number("maximumRecords", search.maximum_records);
                put.packing(search.packing);
                let unpacked = search.unpacked.filter(|_| put.is_new);
                let unpacked =
                    unpacked.map(|unpacked| if unpacked { "unpacked" } else { "packed" });
                put.text("recordPacking", unpacked);
                put.text("recordSchema", search.record_schema.as_deref());
                put.only_old("recordXPath", search.record_xpath.as_deref());
                put.facets(&search.facets);
                put.number("resultSetTTL", search.result_set_ttl);
                put.text("sortKeys", search.sort_keys.as_deref());
            }
            SruOperation::Scan(scan) => {
                let names = ["scanClause", "x-pScanClause"];
                put.query(&scan.query_type, names, &scan.clause);
                put.number("responsePosition", scan.response_position);
                put.number("maximumTerms", scan.maximum_terms);
                // The schema for scan has `httpAccept` before the stylesheet.
                put.only_new("httpAccept", self.http_accept.as_deref());
            }
            SruOperation::Explain(explain) => put.packing(explain.packing),
            SruOperation::Update(_) => {}
        }
        put.text("stylesheet", self.stylesheet.as_deref());
        put.only_new("renderedBy", self.rendered_by.as_deref());
        if !matches!(self.operation, SruOperation::Scan(_)) {
            put.only_new("httpAccept", self.http_accept.as_deref());
        }
        put.only_new("responseType", self.response_type.as_deref());
    }
}

struct Put<'a, 'f> {
    /// Whether the version of the request is 2.0.
    is_new: bool,
    fields: &'f mut Vec<Field<'a>>,
}

impl<'a> Put<'a, '_> {
    fn text(&mut self, name: &'static str, value: Option<&'a str>) {
        let field = value.map(|value| (name.into(), value.into()));
        self.fields.extend(field);
    }

    fn only_new(&mut self, name: &'static str, value: Option<&'a str>) {
        self.text(name, value.filter(|_| self.is_new));
    }

    fn only_old(&mut self, name: &'static str, value: Option<&'a str>) {
        self.text(name, value.filter(|_| !self.is_new));
    }

    fn number(&mut self, name: &'static str, value: Option<u64>) {
        let field = value.map(|value| (name.into(), value.to_string().into()));
        self.fields.extend(field);
    }

    fn packing(&mut self, packing: Option<Packing>) {
        let name = if self.is_new {
            "recordXMLEscaping"
        } else {
            "recordPacking"
        };
        self.text(name, packing.map(Packing::as_str));
    }

    /// Adds a query. The name of its parameter depends on the query language and the version of the request.
    fn query(&mut self, query_type: &'a QueryType, names: [&'static str; 2], query: &'a str) {
        let [name, in_pqf] = names;
        match query_type {
            QueryType::Pqf if !self.is_new => self.text(in_pqf, Some(query)),
            QueryType::Cql => self.text(name, Some(query)),
            other => {
                self.text("queryType", Some(other.as_str()));
                self.text(name, Some(query));
            }
        }
    }

    fn facets(&mut self, facets: &'a FacetParameters) {
        for (name, value) in facets.fields() {
            // YAZ sends these parameters in 1.1 too, so they are written in every version.
            match name {
                "facetLimit" | "facetStart" | "facetSort" => self.text(name, value),
                _ => self.only_new(name, value),
            }
        }
    }
}

impl FacetParameters {
    /// Returns the facet parameters by name, with their values.
    pub(in crate::sru) fn fields(&self) -> [(&'static str, Option<&str>); 7] {
        [
            ("facetLimit", self.limit.as_deref()),
            ("facetStart", self.start.as_deref()),
            ("facetSort", self.sort.as_deref()),
            ("facetRangeField", self.range_field.as_deref()),
            ("facetLowValue", self.low_value.as_deref()),
            ("facetHighValue", self.high_value.as_deref()),
            ("facetCount", self.count.as_deref()),
        ]
    }
}
