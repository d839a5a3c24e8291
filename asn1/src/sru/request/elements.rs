//! Writes a request as XML elements, either in SOAP or as the echo in a response.

use super::{FacetParameters, Request, SruOperation};
use crate::sru::xcql;
use crate::sru::xml::Writer;
use crate::sru::{Version, is_secret_parameter};

impl Request {
    /// Writes the request as the content of an echo, in the order of the schemas and without the login.
    pub(in crate::sru) fn put_echo(&self, to: &mut Writer<'_>) {
        let is_new = self.version == Version::V2_0;
        if !is_new {
            to.text("version", self.version.as_str());
        }
        let (mut facets, left_out): (_, &[&str]) = match &self.operation {
            SruOperation::SearchRetrieve(search) => (search.facets.joined(), &[]),
            SruOperation::Scan(_) => (String::new(), &["queryType", "renderedBy", "responseType"]),
            _ => (String::new(), &["httpAccept", "renderedBy", "responseType"]),
        };
        let shown = self
            .extra
            .iter()
            .filter(|(name, _)| !is_secret_parameter(name));
        let extra: Vec<_> = shown.cloned().collect();
        // In SRU 2.0, each extra parameter of a search is an element; other requests have one element for all extra parameters.
        let is_search = matches!(self.operation, SruOperation::SearchRetrieve(_));
        let mut parameters = if is_new && is_search { &extra[..] } else { &[] };
        let mut fields = Vec::new();
        self.put_fields(&mut fields);
        for (name, value) in &fields {
            match &**name {
                // The schema for 2.0 has one element for all facet parameters; older schemas cannot echo facet parameters.
                name if name.starts_with("facet") => {
                    if is_new && !facets.is_empty() {
                        to.text("facetParameters", &std::mem::take(&mut facets));
                    }
                }
                name if left_out.contains(&name) => {}
                name => {
                    if matches!(name, "httpAccept" | "responseType") {
                        put_parameters(to, std::mem::take(&mut parameters));
                    }
                    to.text(element_name(name), value);
                    // The schemas for 1.1 and 1.2 require the query as elements too.
                    match name {
                        "query" if !is_new => xcql::put_query(to, value),
                        "scanClause" if !is_new => xcql::put_scan_clause(to, value),
                        _ => {}
                    }
                }
            }
        }
        put_parameters(to, parameters);
        // In SRU 2.0, the extra parameters of a search have been written above. The schema for a scan allows such
        // elements only in foreign namespaces, and these parameters have no namespace.
        let is_scan = matches!(self.operation, SruOperation::Scan(_));
        if !(is_new && (is_search || is_scan)) {
            put_extra(to, &extra);
        }
    }

    /// Writes the parameters of the request as SOAP elements, without the version.
    pub(in crate::sru) fn put_elements(&self, to: &mut Writer<'_>) {
        let mut fields = Vec::new();
        self.put_fields(&mut fields);
        for (name, value) in &fields {
            to.text(element_name(name), value);
        }
        to.optional("database", self.database.as_deref());
        let mut extra = self.extra.clone();
        if let Some(login) = &self.login {
            extra.push(("x-username".into(), login.user.clone()));
            extra.push(("x-password".into(), login.password.clone()));
        }
        put_extra(to, &extra);
    }
}

impl FacetParameters {
    /// Joins the facet parameters into one string: for example, `facetLimit=10&facetSort=recordCount`.
    fn joined(&self) -> String {
        let given = self
            .fields()
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={}", value?)));
        given.collect::<Vec<_>>().join("&")
    }
}

/// Returns the name of the SOAP element for a parameter. For queries in PQF, YAZ's names in SOAP differ from those in
/// URLs.
fn element_name(parameter: &str) -> &str {
    match parameter {
        "x-pquery" => "pQuery",
        "x-pScanClause" => "pScanClause",
        other => other,
    }
}

fn put_parameters(to: &mut Writer<'_>, extra: &[(String, String)]) {
    for (name, value) in extra {
        to.text("extraRequestParameter", &format!("{name}={value}"));
    }
}

/// Writes extra parameters as elements, without `x-` in their names. A parameter is left out if its name cannot be the
/// name of an element.
fn put_extra(to: &mut Writer<'_>, extra: &[(String, String)]) {
    let named = extra.iter().filter_map(|(name, value)| {
        let name = name.strip_prefix("x-")?;
        let starts = name.starts_with(|first: char| first.is_ascii_alphabetic());
        let continues = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        (starts && name.chars().all(continues)).then_some((name, value))
    });
    let mut named = named.peekable();
    if named.peek().is_some() {
        to.begin("extraRequestData");
        for (name, value) in named {
            to.text(name, value);
        }
        to.end("extraRequestData");
    }
}
