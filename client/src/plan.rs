//! Plans the requests for a URL, octet for octet, without a connection (RFC 2056 §3, §4). A reason not to send them is
//! returned as a [`PlanError`] or a [`Caution`].

mod docid;
mod fallback;

use z3950_asn1::apdu::{
    IdAuthentication, IdPass, InitializeRequest, PresentRequest, SearchRequest,
};
use z3950_asn1::oid::{self, Oid};
use z3950_marc::charset::Charset;

pub use crate::error::notice::{Caution, PlanError, Warning};
use crate::protocol::service::init;
use crate::target::Endpoint;
use crate::target::profile::{Profile, TargetLimits};
use crate::url::{BuildError, DEFAULT_PORT, Host, Kind, Octets, Userinfo, Z3950Url};
pub(crate) use docid::DocidRequests;
pub use docid::is_prescribed;
pub use fallback::Fallback;
pub(crate) use fallback::{Objection, SearchOrder};

/// The first port that is not reserved. Ports below it belong to other protocols, except 210 (RFC 1738 §6).
const FIRST_FREE_PORT: u16 = 1024;

/// The options that determine the requests for a URL.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PlanOptions {
    /// How to request the record.
    pub strategy: Strategy,
    /// How to treat the element set name and the record syntaxes in the URL.
    pub hints: Hints,
    /// Whether to refuse a URL with a docid if it names record syntaxes and none of them is supported.
    pub strict: bool,
    /// The supported record syntaxes. By default, these are all syntaxes that have a name. A URL may always name a
    /// syntax by its OID.
    pub record_syntaxes: Vec<Oid>,
    /// The preferred record syntax for URLs that do not name one.
    pub default_record_syntax: Option<Oid>,
    /// Whether the search of a session URL requests the record if there is exactly one hit. If not, it requests no
    /// records.
    pub auto_present: bool,
    /// Whether to allow connections to ports that are reserved for other protocols.
    pub allow_reserved_port: bool,
    /// Whether to send the user name and password in the URL to the server.
    pub allow_url_credentials: bool,
    /// The fallbacks to use after the server has refused a request.
    pub fallback: Fallback,
    /// The Init request, to which the credentials in the URL or the profile may be added.
    pub init: InitializeRequest,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            hints: Hints::default(),
            strict: false,
            record_syntaxes: Oid::record_syntaxes().map(|(_, syntax)| syntax).collect(),
            default_record_syntax: Some(oid::USMARC),
            auto_present: true,
            allow_reserved_port: false,
            allow_url_credentials: false,
            fallback: Fallback::default(),
            init: init::offer(),
        }
    }
}

/// How to request the record. RFC 2056 §4 allows both strategies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The search returns the record, if there is exactly one hit. If the response contains no record, a Present
    /// follows.
    #[default]
    Piggyback,
    /// A separate Present always requests the record.
    PresentOnly,
}

/// How to treat the element set name and the record syntaxes in a URL. These are only hints. In a session URL without a
/// docid, the databases are hints too (RFC 2056 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hints {
    /// Follow the hints if possible.
    #[default]
    Prefer,
    /// Follow the hints, or refuse the URL if this is not possible.
    Require,
    /// Ignore the hints.
    Ignore,
}

/// The defaults for later searches and Presents in a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SessionDefaults {
    /// The databases to search. The list may be empty.
    pub databases: Vec<Octets>,
    /// The element set name to request.
    pub element_set: Option<Octets>,
    /// The record syntax to request.
    pub record_syntax: Option<Oid>,
}

/// The requests that will be sent for a URL. `Debug` shows no credentials.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Whether the URL is for a session or a retrieval.
    pub kind: Kind,
    /// The host to connect to.
    pub host: Host,
    /// The port to connect to, from 1 to 65535.
    pub port: u16,
    /// The docid, which is the only term of the query.
    pub docid: Option<Octets>,
    /// The databases to search, and the form in which to request the record. In a session, they are also the defaults
    /// for later searches.
    pub defaults: SessionDefaults,
    /// The record syntax to request, followed by the other syntaxes in the URL that [`Fallback::syntax`] allows.
    pub record_syntaxes: Vec<Oid>,
    /// The options. Their Init request contains the credentials in the URL, if these will be sent.
    pub options: PlanOptions,
    /// The source of the identity sent in Init, or `None` if no identity is sent.
    pub identity_source: Option<IdentitySource>,
    /// Cautions that the user should confirm before anything is sent.
    pub cautions: Vec<Caution>,
    /// Warnings about differences between the requests and the URL.
    pub warnings: Vec<Warning>,
    /// Whether the URL itself names record syntaxes.
    names_syntaxes: bool,
    /// The profile of the server, if there is one.
    profile: Option<Box<Profile>>,
}

/// The source of the identity sent in Init (RFC 1736 §5, on the information in a locator).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentitySource {
    /// The user name and password in the URL.
    Url,
    /// The options, in [`InitializeRequest::id_authentication`].
    Options,
    /// The credentials in the profile of the server.
    Profile,
}

/// Plans the requests for `url`.
///
/// # Errors
/// See [`PlanError`]. A reserved port is not an error here; see [`Plan::refused_port`].
pub fn plan(url: &Z3950Url, options: &PlanOptions) -> Result<Plan, PlanError> {
    if url.kind() == Kind::Retrieval && url.docid().is_none() {
        return Err(PlanError::NoDocid);
    }
    let mut warnings: Vec<_> = url.warnings().iter().cloned().map(Warning::Url).collect();
    let record_syntaxes = choose_syntaxes(url, options, &mut warnings)?;
    let ignored = options.hints == Hints::Ignore;
    let databases = if ignored && url.docid().is_none() {
        Vec::new()
    } else {
        url.databases().to_vec()
    };
    let defaults = SessionDefaults {
        databases,
        element_set: url.element_set().filter(|_| !ignored).cloned(),
        record_syntax: record_syntaxes.first().copied(),
    };
    let mut options = options.clone();
    let mut identity_source = options
        .init
        .id_authentication
        .is_some()
        .then_some(IdentitySource::Options);
    let mut cautions = Vec::new();
    if url.port() < FIRST_FREE_PORT && url.port() != DEFAULT_PORT {
        cautions.push(Caution::ReservedPort(url.port()));
    }
    if let Some(userinfo) = url.userinfo() {
        let sent = options.allow_url_credentials;
        cautions.push(Caution::Credentials { sent });
        if sent {
            options.init.id_authentication = Some(id_pass(userinfo));
            identity_source = Some(IdentitySource::Url);
        }
    }
    Ok(Plan {
        kind: url.kind(),
        host: url.host().clone(),
        port: url.port(),
        docid: url.docid().cloned(),
        defaults,
        record_syntaxes,
        options,
        identity_source,
        cautions,
        warnings,
        names_syntaxes: !ignored && !url.record_syntaxes().is_empty(),
        profile: None,
    })
}

/// Returns the record syntaxes to request, most preferred first.
fn choose_syntaxes(
    url: &Z3950Url,
    options: &PlanOptions,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Oid>, PlanError> {
    let named = match options.hints {
        Hints::Ignore => &[],
        Hints::Prefer | Hints::Require => url.record_syntaxes(),
    };
    let mut supported: Vec<Oid> = Vec::new();
    for name in named {
        let is_dotted =
            std::str::from_utf8(name.as_bytes()).is_ok_and(|name| name.parse::<Oid>().is_ok());
        if let Some(syntax) = Oid::record_syntax_by_name(name.as_bytes())
            && (is_dotted || options.record_syntaxes.contains(&syntax))
            && !supported.contains(&syntax)
        {
            supported.push(syntax);
        }
    }
    if supported.is_empty() && !named.is_empty() {
        if options.strict && url.docid().is_some() {
            return Err(PlanError::NoSupportedRecordSyntax(named.to_vec()));
        }
        if options.hints == Hints::Require {
            return Err(PlanError::HintUnsatisfiable {
                hint: "rs",
                values: named.to_vec(),
            });
        }
        if url.docid().is_some() {
            warnings.push(Warning::RecordSyntaxOmitted(named.to_vec()));
            return Ok(Vec::new());
        }
        warnings.push(Warning::HintIgnored {
            hint: "rs",
            values: named.to_vec(),
        });
    }
    if supported.is_empty() {
        supported.extend(options.default_record_syntax);
    }
    Ok(supported)
}

/// Returns the credentials in a URL in the form in which Init sends them.
pub fn id_pass(userinfo: &Userinfo) -> IdAuthentication {
    IdAuthentication::IdPass(IdPass {
        user_id: Some(userinfo.user().as_bytes().into()),
        password: userinfo
            .password()
            .map(|password| password.as_bytes().into()),
        ..IdPass::default()
    })
}

impl Plan {
    /// Applies the server's profile: its TLS settings, its limits and the character set of its records, and, for the
    /// fallbacks that [`Fallback`] allows, its searches for a docid, its attributes and its record syntax. The requests
    /// that RFC 2056 §4 prescribes remain the same. A profile for a different host or port has no effect. Credentials
    /// are handled by [`Client::plan`](crate::Client::plan).
    pub fn with_profile(mut self, profile: &Profile) -> Self {
        if (&profile.host, profile.port) == (&self.host, self.port) {
            self.profile = Some(Box::new(profile.clone()));
        }
        self
    }

    /// Sets the identity from the server's profile.
    pub(crate) fn with_authentication(mut self, authentication: IdAuthentication) -> Self {
        self.options.init.id_authentication = Some(authentication);
        self.identity_source = Some(IdentitySource::Profile);
        self
    }

    /// Returns the endpoint: the host and port in the URL, with TLS if the profile requires it.
    pub fn endpoint(&self) -> Endpoint {
        match &self.profile {
            Some(profile) => profile.endpoint(),
            None => Endpoint::Tcp(self.host.clone(), self.port),
        }
    }

    /// Returns the profile of the server, if there is one.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_deref()
    }

    /// Returns the limits that the profile sets for the server.
    pub fn limits(&self) -> TargetLimits {
        let profile = self.profile.as_deref();
        profile.map_or_else(TargetLimits::default, TargetLimits::from)
    }

    /// Returns the character set in the profile, which overrides the one declared by records. Returns `None` if the
    /// profile does not name one.
    pub fn record_charset(&self) -> Option<Charset> {
        self.profile.as_ref()?.record_charset
    }

    /// Returns the port if it is reserved and not allowed, in which case nothing is sent.
    pub fn refused_port(&self) -> Option<u16> {
        let mut cautions = self.cautions.iter();
        let reserved = cautions.any(|caution| matches!(caution, Caution::ReservedPort(_)));
        (reserved && !self.options.allow_reserved_port).then_some(self.port)
    }

    /// Returns the URL of this plan. It contains only the parts that are actually requested, and neither user name nor
    /// password.
    ///
    /// # Errors
    /// [`BuildError`] if the parts cannot be combined into a URL, for example because the kind or the host was changed
    /// after planning.
    pub fn url(&self) -> Result<Z3950Url, BuildError> {
        let mut url = Z3950Url::builder(self.kind, self.host.clone())
            .port(self.port)
            .databases(self.defaults.databases.iter().cloned());
        if let Some(docid) = &self.docid {
            url = url.docid(docid.clone());
        }
        if let Some(name) = &self.defaults.element_set {
            url = url.element_set(name.clone());
        }
        for syntax in self.record_syntaxes.iter().filter(|_| self.names_syntaxes) {
            let dotted = || syntax.to_string();
            let name = syntax.name().map_or_else(dotted, str::to_owned);
            url = url.record_syntax(name);
        }
        url.build()
    }

    /// Returns the Init request, which is the first APDU.
    pub fn init_request(&self) -> InitializeRequest {
        self.options.init.clone()
    }

    /// Returns the search, or `None` if the URL has no docid.
    pub fn search_request(&self) -> Option<SearchRequest> {
        DocidRequests::new(self).map(|requests| requests.search())
    }

    /// Returns the attributes of all searches that may be made for the docid, in order, such as `1=1032,4=104`. Their
    /// number depends on [`Fallback`].
    pub fn searches(&self) -> Vec<String> {
        DocidRequests::new(self).map_or_else(Vec::new, |requests| requests.names())
    }

    /// Returns the Present request for the record at a 1-based `position`.
    pub fn present_request(&self, position: u64) -> PresentRequest {
        let element_set = self
            .defaults
            .element_set
            .as_ref()
            .map(|name| name.as_bytes().into());
        docid::present(position, element_set, self.defaults.record_syntax)
    }
}

#[cfg(test)]
mod tests;
