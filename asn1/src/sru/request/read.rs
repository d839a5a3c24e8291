//! Reads a request from its names and values, which come from a URL, a form, or SOAP elements.

use super::encoding::{Undecodable, decode, pairs};
use super::{
    ExplainRequest, FacetParameters, MAX_UNKNOWN_PARAMETERS, QueryType, Refusal, Request,
    ScanRequest, SearchRetrieve, SruLogin, SruOperation,
};
use crate::sru::{Packing, SruCondition, SruDiagnostic, SruLimits, Version};

impl Request {
    /// Parses the query string of a URL without `?`, or a form, which has the same syntax.
    ///
    /// If no operation is named, it is inferred: a request with a query is a search, a request with a scan clause is a
    /// scan, and any other request is an explain. An empty value counts as absent, because browsers send forms with
    /// empty values.
    ///
    /// # Errors
    /// [`Refusal`] if a name is unknown or occurs twice, a name or value is not UTF-8 or exceeds `limits`, a value is
    /// not valid, or a mandatory parameter is missing.
    pub fn from_parameters(text: &[u8], limits: &SruLimits) -> Result<Self, Refusal> {
        let mut fields = Fields::new(limits);
        for (name, value) in pairs(text) {
            let shown = || String::from_utf8_lossy(name).into_owned();
            match (decode(name), decode(value)) {
                (Ok(name), Ok(value)) => fields.push(name, value),
                (Err(error), _) => fields.refuse(SruCondition::PARAMETER, shown(), &error),
                (Ok(name), Err(error)) => {
                    fields.refuse(SruCondition::PARAMETER_VALUE, name, &error);
                }
            }
        }
        fields.request(None)
    }
}

/// The names and values of a request that have not been taken yet, and the faults found so far.
pub(in crate::sru) struct Fields<'a> {
    limits: &'a SruLimits,
    count: usize,
    unknown: usize,
    left: Vec<(String, String)>,
    version: Version,
    diagnostics: Vec<SruDiagnostic>,
}

impl<'a> Fields<'a> {
    pub(in crate::sru) fn new(limits: &'a SruLimits) -> Self {
        Self {
            limits,
            count: 0,
            unknown: 0,
            left: Vec::new(),
            version: Version::V2_0,
            diagnostics: Vec::new(),
        }
    }

    /// Returns whether there are more parameters than the limit.
    pub(in crate::sru) fn is_full(&self) -> bool {
        self.count > self.limits.parameters
    }

    /// Counts a parameter. Returns `false` for a parameter beyond the limit; the first of these adds a diagnostic.
    fn is_within_limit(&mut self, name: &str) -> bool {
        self.count += 1;
        // A single diagnostic reports all parameters beyond the limit.
        if self.count == self.limits.parameters + 1 {
            let message = format!("more than {} parameters", self.limits.parameters);
            self.fail(SruCondition::PARAMETER, name.into(), &message);
        }
        self.count <= self.limits.parameters
    }

    /// Adds a diagnostic for a parameter that cannot be decoded.
    fn refuse(&mut self, condition: SruCondition, name: String, error: &Undecodable) {
        if self.is_within_limit(&name) {
            self.fail(condition, name, &error.to_string());
        }
    }

    /// Adds a name and its value.
    pub(in crate::sru) fn push(&mut self, name: String, value: String) {
        if !self.is_within_limit(&name) {
            return;
        }
        if value.len() > self.limits.parameter || name.len() > self.limits.parameter {
            let condition = match &*name {
                "query" | "x-pquery" => SruCondition::TOO_MANY_CHARACTERS,
                _ => SruCondition::PARAMETER_VALUE,
            };
            let message = format!("longer than {} octets", self.limits.parameter);
            self.fail(condition, name, &message);
        } else if self.left.iter().any(|(known, _)| *known == name) {
            self.fail(SruCondition::PARAMETER_VALUE, name, "given more than once");
        } else if !value.is_empty() {
            self.left.push((name, value));
        }
    }

    /// Adds a diagnostic with a condition and a message. The number of diagnostics for unknown parameters is limited.
    pub(in crate::sru) fn fail(&mut self, condition: SruCondition, name: String, message: &str) {
        if condition == SruCondition::PARAMETER {
            if self.unknown == MAX_UNKNOWN_PARAMETERS {
                return;
            }
            self.unknown += 1;
        }
        let details: String = name.chars().take(MAX_SHOWN).collect();
        let diagnostic = SruDiagnostic::new(condition, details);
        let diagnostic = match message {
            "" => diagnostic,
            message => diagnostic.with_message(message),
        };
        self.diagnostics.push(diagnostic);
    }

    /// Adds a diagnostic to the faults.
    pub(in crate::sru) fn add(&mut self, diagnostic: SruDiagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Takes the value of a parameter, so that it is not reported as unknown.
    pub(in crate::sru) fn take(&mut self, name: &str) -> Option<String> {
        let index = self.left.iter().position(|(known, _)| known == name)?;
        Some(self.left.remove(index).1)
    }

    /// Takes the value of a parameter that exists only in 2.0.
    fn take_new(&mut self, name: &str) -> Option<String> {
        (self.version == Version::V2_0).then(|| self.take(name))?
    }

    /// Takes the value of a parameter that exists only in 1.1 and 1.2.
    fn take_old(&mut self, name: &str) -> Option<String> {
        (self.version != Version::V2_0).then(|| self.take(name))?
    }

    /// Takes the value of a parameter as a 64-bit number that is at least `least`.
    fn number(&mut self, name: &str, least: u64) -> Option<u64> {
        let value = self.take(name)?;
        let digits = value.trim();
        let is_number = !digits.is_empty() && digits.bytes().all(|octet| octet.is_ascii_digit());
        let number = is_number.then(|| digits.parse().ok()).flatten();
        let number = number.filter(|number| *number >= least);
        if number.is_none() {
            let message = if is_number && digits.len() >= MAX_DIGITS {
                "a number that is too large".to_owned()
            } else {
                format!("not a number from {least}")
            };
            self.fail(SruCondition::PARAMETER_VALUE, name.into(), &message);
        }
        number
    }

    /// Returns a mandatory value. If it is missing, a diagnostic is added, unless there is already one for this
    /// parameter.
    fn mandatory(&mut self, name: &str, value: Option<String>) -> String {
        let is_faulty = |diagnostic: &SruDiagnostic| diagnostic.details == name;
        if value.is_none() && !self.diagnostics.iter().any(is_faulty) {
            self.fail(SruCondition::PARAMETER_MISSING, name.into(), "");
        }
        value.unwrap_or_default()
    }

    /// Takes the version. For a SOAP request without a version, the version is `of_namespace`.
    pub(in crate::sru) fn version(&mut self, of_namespace: Option<Version>) -> Version {
        let named = self.take("version");
        let version = match (&named, of_namespace) {
            (None, Some(version)) => Some(version),
            (named, _) => Version::for_client(named.as_deref().map(str::trim)),
        };
        self.version = version.unwrap_or(Version::V2_0);
        if version.is_none() {
            let highest = Version::V2_0.as_str().to_owned();
            self.fail(SruCondition::VERSION, highest, "");
        }
        self.version
    }

    /// Reads the request from a URL or a form.
    fn request(mut self, of_namespace: Option<Version>) -> Result<Request, Refusal> {
        self.version(of_namespace);
        let named = self.take("operation");
        // The name of a parameter with a fault also helps to infer the operation.
        let has = |names: [&str; 2]| {
            let given = self.left.iter().map(|(name, _)| &**name);
            let faulty = self.diagnostics.iter().map(|one| &*one.details);
            given.chain(faulty).any(|name| names.contains(&name))
        };
        let operation = match named.as_deref() {
            Some("searchRetrieve") => self.search_retrieve().into(),
            Some("scan") => self.scan().into(),
            None if has(["query", "x-pquery"]) => self.search_retrieve().into(),
            None if has(["scanClause", "x-pScanClause"]) => self.scan().into(),
            Some("explain") | None => self.explain().into(),
            Some(other) => {
                self.fail(SruCondition::OPERATION, other.into(), "");
                // Without a known operation, the other parameters cannot be checked, so only extra parameters are kept.
                self.left.retain(|(name, _)| name.starts_with("x-"));
                ExplainRequest::default().into()
            }
        };
        self.finish(operation)
    }

    /// Reads a SOAP request; its operation is given by the name of its element.
    pub(in crate::sru) fn of_element(
        mut self,
        element: &str,
        of_namespace: Option<Version>,
    ) -> Result<Request, Refusal> {
        self.version(of_namespace);
        let operation = match element {
            "searchRetrieveRequest" => self.search_retrieve().into(),
            "scanRequest" => self.scan().into(),
            _ => self.explain().into(),
        };
        self.finish_element(operation)
    }

    /// Finishes a request like [`Self::finish`], and takes the name of the database, which occurs only in SOAP.
    pub(in crate::sru) fn finish_element(
        mut self,
        operation: SruOperation,
    ) -> Result<Request, Refusal> {
        let database = self.take("database");
        let mut read = self.finish(operation);
        match &mut read {
            Ok(request) => request.database = database,
            Err(refusal) => refusal.request.database = database,
        }
        read
    }

    /// Takes the parameters common to all operations. A remaining parameter is an extra parameter if its name begins
    /// with `x-`, and unknown otherwise.
    fn finish(mut self, operation: SruOperation) -> Result<Request, Refusal> {
        let mut request = Request::new(self.version, operation);
        request.stylesheet = self.take("stylesheet");
        request.rendered_by = self.take_new("renderedBy");
        request.http_accept = self.take_new("httpAccept");
        request.response_type = self.take_new("responseType");
        request.login = self.login();
        let left = std::mem::take(&mut self.left);
        let (extra, unknown): (Vec<_>, Vec<_>) = left
            .into_iter()
            .partition(|(name, _)| name.starts_with("x-"));
        request.extra = extra;
        for (name, _) in unknown {
            self.fail(SruCondition::PARAMETER, name, "");
        }
        if self.diagnostics.is_empty() {
            Ok(request)
        } else {
            Err(Refusal {
                request: Box::new(request),
                diagnostics: self.diagnostics,
            })
        }
    }

    fn login(&mut self) -> Option<SruLogin> {
        let user = self.take("x-username");
        let password = self.take("x-password");
        (user.is_some() || password.is_some()).then(|| SruLogin {
            user: user.unwrap_or_default(),
            password: password.unwrap_or_default(),
        })
    }

    fn search_retrieve(&mut self) -> SearchRetrieve {
        let (query, query_type) = self.query("query", "x-pquery");
        SearchRetrieve {
            query,
            query_type,
            start_record: self.number("startRecord", 1),
            maximum_records: self.number("maximumRecords", 0),
            packing: self.packing(),
            unpacked: self.unpacked(),
            record_schema: self.take("recordSchema"),
            record_xpath: self.take_old("recordXPath"),
            result_set_ttl: self.number("resultSetTTL", 0),
            sort_keys: self.take("sortKeys"),
            // YAZ sends the first three parameters in 1.1 too, so they are read in every version.
            facets: FacetParameters {
                limit: self.take("facetLimit"),
                start: self.take("facetStart"),
                sort: self.take("facetSort"),
                range_field: self.take_new("facetRangeField"),
                low_value: self.take_new("facetLowValue"),
                high_value: self.take_new("facetHighValue"),
                count: self.take_new("facetCount"),
            },
        }
    }

    fn scan(&mut self) -> ScanRequest {
        let (clause, query_type) = self.query("scanClause", "x-pScanClause");
        ScanRequest {
            clause,
            query_type,
            response_position: self.number("responsePosition", 0),
            maximum_terms: self.number("maximumTerms", 1),
        }
    }

    fn explain(&mut self) -> ExplainRequest {
        let explain = ExplainRequest {
            packing: self.packing(),
        };
        self.unpacked();
        explain
    }

    /// Takes a query and its language. YAZ uses a separate parameter, `in_pqf`, for PQF.
    fn query(&mut self, name: &str, in_pqf: &str) -> (String, QueryType) {
        let named = self.take_new("queryType");
        let query = self.take(name);
        match self.take(in_pqf) {
            Some(_) if query.is_some() => {
                self.fail(
                    SruCondition::PARAMETER_VALUE,
                    in_pqf.into(),
                    "a second query",
                );
                (String::new(), QueryType::Pqf)
            }
            Some(query) => (query, QueryType::Pqf),
            None => {
                let query_type = match named {
                    Some(named) if named.eq_ignore_ascii_case("pqf") => QueryType::Pqf,
                    Some(named) if !named.eq_ignore_ascii_case("cql") => QueryType::Other(named),
                    _ => QueryType::Cql,
                };
                (self.mandatory(name, query), query_type)
            }
        }
    }

    fn packing(&mut self) -> Option<Packing> {
        let value = match self.version {
            Version::V2_0 => self.take("recordXMLEscaping"),
            Version::V1_1 | Version::V1_2 => self.take("recordPacking"),
        }?;
        let packing = Packing::by_name(value.trim());
        if packing.is_none() {
            self.fail(SruCondition::PACKING, value, "");
        }
        packing
    }

    fn unpacked(&mut self) -> Option<bool> {
        match &*self.take_new("recordPacking")? {
            "packed" => Some(false),
            "unpacked" => Some(true),
            // Clients often send a value of the older parameter with the same name, so such a value is ignored.
            other if Packing::by_name(other).is_some() => None,
            other => {
                self.fail(SruCondition::PACKING, other.into(), "");
                None
            }
        }
    }
}

/// The number of digits in the largest 64-bit number.
const MAX_DIGITS: usize = 20;

/// The maximum number of characters of a name or value shown in a diagnostic.
const MAX_SHOWN: usize = 80;
