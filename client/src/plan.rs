//! From a URL to what will be sent for it, octet for octet, without a connection (RFC 2056 §3, §4).
//! What speaks against sending it is said here too: refusals as [`PlanError`], doubts as [`Caution`].

mod notice;
mod syntax;

use z3950_asn1::apdu::{
    AttributeElement, AttributesPlusTerm, DatabaseName, IdAuthentication, IdPass,
    InitializeRequest, Operand, PresentRequest, Query, RpnQuery, RpnStructure, SearchRequest, Term,
};
use z3950_asn1::bib1::attributes::{STRUCTURE, STRUCTURE_URX, USE, USE_DOC_ID};
use z3950_asn1::oid::{self, Oid};
use z3950_asn1::types::InternationalString;

use crate::service::init::InitOptions;
use crate::service::present::PresentOptions;
use crate::service::search::SearchOptions;
use crate::url::{DEFAULT_PORT, Host, Kind, Octets, Userinfo, Z3950Url};

pub use notice::{Caution, PlanError, Warning};
pub use syntax::{record_syntax_by_name, record_syntaxes};

/// Ports below this one are the business of other protocols, 210 excepted (RFC 1738 §6).
const FIRST_FREE_PORT: u16 = 1024;

/// What the planner may and shall do.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOptions {
    /// Where element set name and record syntax go.
    pub strategy: Strategy,
    /// What becomes of element set name and record syntaxes of the URL.
    pub hints: Hints,
    /// Whether a docid URL none of whose record syntaxes is supported is refused.
    pub strict: bool,
    /// The record syntaxes supported; by default all that have a name. A dotted one in the URL always counts.
    pub record_syntaxes: Vec<Oid>,
    /// The preferred syntax where the URL names none.
    pub default_record_syntax: Option<Oid>,
    /// Whether a session URL with exactly one hit also fetches the record.
    pub auto_present: bool,
    /// Whether ports of other protocols may be connected to.
    pub allow_reserved_port: bool,
    /// Whether user name and password of the URL are sent to the server.
    pub allow_url_credentials: bool,
    /// What may be tried again in another way.
    pub fallback: Fallback,
    /// What Init offers.
    pub init: InitOptions,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            strategy: Strategy::default(),
            hints: Hints::default(),
            strict: false,
            record_syntaxes: record_syntaxes(),
            default_record_syntax: Some(oid::USMARC),
            auto_present: true,
            allow_reserved_port: false,
            allow_url_credentials: false,
            fallback: Fallback::default(),
            init: InitOptions::default(),
        }
    }
}

/// Where the record is asked for. RFC 2056 §4 allows both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Strategy {
    /// With the search, for exactly one hit; by Present if it did not come.
    #[default]
    Piggyback,
    /// By Present alone.
    PresentOnly,
}

/// How seriously element set name and record syntaxes of a URL are taken.
///
/// Without a docid the databases of a session URL are a hint too (RFC 2056 §3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Hints {
    /// Followed where this client can.
    #[default]
    Prefer,
    /// Followed, or the URL is refused.
    Require,
    /// As if they were not there.
    Ignore,
}

/// What to try after a refusal. Off by default: RFC 2056 says to select one syntax, and which attributes to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fallback {
    /// After diagnostic 238 or 239, the next supported record syntax of the URL.
    pub syntax: bool,
    /// After diagnostic 118, the search without the Structure attribute, which does not conform to RFC 2056.
    pub structure: bool,
}

/// What a session starts with: for searches and presents that do not say otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionDefaults {
    /// The databases to search; possibly none.
    pub databases: Vec<Octets>,
    /// The element set name.
    pub element_set: Option<Octets>,
    /// The preferred record syntax.
    pub record_syntax: Option<Oid>,
}

/// What will be sent for a URL. Neither `Debug` nor anything else shows credentials.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    kind: Kind,
    host: Host,
    port: u16,
    docid: Option<Octets>,
    defaults: SessionDefaults,
    record_syntaxes: Vec<Oid>,
    strategy: Strategy,
    auto_present: bool,
    allow_reserved_port: bool,
    fallback: Fallback,
    init: InitOptions,
    cautions: Vec<Caution>,
    warnings: Vec<Warning>,
}

/// Decides what to send for `url`.
///
/// # Errors
/// See [`PlanError`]. A reserved port is no error here: see [`Plan::refused_port`].
pub fn plan(url: &Z3950Url, options: &PlanOptions) -> Result<Plan, PlanError> {
    if url.kind() == Kind::Retrieval && url.docid().is_none() {
        return Err(PlanError::NoDocid);
    }
    let mut warnings: Vec<_> = url.warnings().iter().cloned().map(Warning::Url).collect();
    let record_syntaxes = choose_syntaxes(url, options, &mut warnings)?;
    let ignored = options.hints == Hints::Ignore;
    let databases = match ignored && url.docid().is_none() {
        true => Vec::new(),
        false => url.databases().to_vec(),
    };
    let defaults = SessionDefaults {
        databases,
        element_set: url.element_set().filter(|_| !ignored).cloned(),
        record_syntax: record_syntaxes.first().copied(),
    };
    let mut init = options.init.clone();
    let mut cautions = Vec::new();
    if url.port() < FIRST_FREE_PORT && url.port() != DEFAULT_PORT {
        cautions.push(Caution::ReservedPort(url.port()));
    }
    if let Some(userinfo) = url.userinfo() {
        let sent = options.allow_url_credentials;
        cautions.push(Caution::Credentials { sent });
        if sent {
            init.authentication = Some(id_pass(userinfo));
        }
    }
    Ok(Plan {
        kind: url.kind(),
        host: url.host().clone(),
        port: url.port(),
        docid: url.docid().cloned(),
        defaults,
        record_syntaxes,
        strategy: options.strategy,
        auto_present: options.auto_present,
        allow_reserved_port: options.allow_reserved_port,
        fallback: options.fallback,
        init,
        cautions,
        warnings,
    })
}

/// The record syntaxes to ask for, most wanted first.
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
        if let Some(syntax) = syntax::supported(name.as_bytes(), &options.record_syntaxes)
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
        warnings.push(Warning::HintIgnored("rs"));
    }
    if supported.is_empty() {
        supported.extend(options.default_record_syntax);
    }
    Ok(supported)
}

fn id_pass(userinfo: &Userinfo) -> IdAuthentication {
    IdAuthentication::IdPass(IdPass {
        group_id: None,
        user_id: Some(userinfo.user().as_bytes().into()),
        password: userinfo
            .password()
            .map(|password| password.as_bytes().into()),
    })
}

impl Plan {
    /// Session or retrieval.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The host to connect to.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port to connect to, 1–65535.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The databases to search, or the hint which.
    pub fn databases(&self) -> &[Octets] {
        &self.defaults.databases
    }

    /// The record to look for: the octets of the query's only term.
    pub fn docid(&self) -> Option<&Octets> {
        self.docid.as_ref()
    }

    /// The element set name to ask for.
    pub fn element_set(&self) -> Option<&Octets> {
        self.defaults.element_set.as_ref()
    }

    /// The record syntax to ask for.
    pub fn record_syntax(&self) -> Option<Oid> {
        self.defaults.record_syntax
    }

    /// The record syntax to ask for and those that [`Fallback::syntax`] may try after it.
    pub fn record_syntaxes(&self) -> &[Oid] {
        &self.record_syntaxes
    }

    /// What a session opened by this plan starts with.
    pub fn defaults(&self) -> &SessionDefaults {
        &self.defaults
    }

    /// Where the record is asked for.
    pub fn strategy(&self) -> Strategy {
        self.strategy
    }

    /// Whether a session URL with exactly one hit also fetches the record.
    pub fn auto_present(&self) -> bool {
        self.auto_present
    }

    /// What may be tried again in another way.
    pub fn fallback(&self) -> Fallback {
        self.fallback
    }

    /// The port, if it is reserved and connecting to it was not allowed: then nothing may be sent.
    pub fn refused_port(&self) -> Option<u16> {
        let reserved = self
            .cautions
            .iter()
            .any(|caution| matches!(caution, Caution::ReservedPort(_)));
        (reserved && !self.allow_reserved_port).then_some(self.port)
    }

    /// What a person should agree to.
    pub fn cautions(&self) -> &[Caution] {
        &self.cautions
    }

    /// What was not done as the URL says.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// What Init offers, credentials of the URL included if they are to be sent.
    pub fn init_options(&self) -> &InitOptions {
        &self.init
    }

    /// The first APDU.
    pub fn init_request(&self) -> InitializeRequest {
        self.init.request()
    }

    /// The search, if the URL has a docid.
    pub fn search_request(&self) -> Option<SearchRequest> {
        self.search(self.record_syntax(), true)
    }

    /// The Present for the record at `position`, 1-based.
    pub fn present_request(&self, position: u64) -> PresentRequest {
        self.present(position, self.record_syntax())
    }

    /// The search with this preferred syntax, the Structure attribute sent or not.
    pub(crate) fn search(
        &self,
        record_syntax: Option<Oid>,
        structure: bool,
    ) -> Option<SearchRequest> {
        let docid = self.docid.as_ref()?;
        let databases = self
            .databases()
            .iter()
            .map(|name| DatabaseName::from(name.as_bytes()));
        let bounds = SearchOptions {
            databases: databases.collect(),
            ..SearchOptions::default()
        };
        let options = match self.strategy {
            Strategy::PresentOnly => bounds,
            // Exactly one hit is a small set, and two are a large one already.
            Strategy::Piggyback => SearchOptions {
                small_set_upper_bound: 1,
                large_set_lower_bound: 2,
                element_set: self.element_set_name(),
                record_syntax,
                ..bounds
            },
        };
        Some(options.request(docid_query(docid, structure)))
    }

    /// The Present with this preferred syntax.
    pub(crate) fn present(&self, position: u64, record_syntax: Option<Oid>) -> PresentRequest {
        let element_set = self.element_set_name();
        PresentOptions {
            element_set,
            record_syntax,
            ..PresentOptions::default()
        }
        .request(position, 1)
    }

    fn element_set_name(&self) -> Option<InternationalString> {
        self.element_set().map(|name| name.as_bytes().into())
    }
}

/// The known-item search of RFC 2056 §4: Bib-1, Use Doc-id, Structure URx, the docid as its only term.
fn docid_query(docid: &Octets, structure: bool) -> Query {
    let mut attributes = vec![AttributeElement::numeric(USE, USE_DOC_ID)];
    if structure {
        attributes.push(AttributeElement::numeric(STRUCTURE, STRUCTURE_URX));
    }
    let term = Term::General(docid.as_bytes().into());
    Query::Type1(RpnQuery {
        attribute_set: oid::BIB_1,
        rpn: RpnStructure::Op(Operand::AttributesPlusTerm(AttributesPlusTerm {
            attributes,
            term,
        })),
    })
}

#[cfg(test)]
mod tests;
