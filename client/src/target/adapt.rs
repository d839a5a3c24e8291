//! Applies the profile of a target to requests. Options that the caller sets explicitly take precedence over the
//! profile.

use z3950_asn1::apdu::{DatabaseName, RpnQuery, Term};
use z3950_asn1::oid::{OPAC, Oid, UNIMARC, USMARC, XML};
use z3950_asn1::types::InternationalString;
use z3950_marc::charset::{Charset, UnencodableText};

use super::profile::Resolved;
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::present::PresentOptions;
use crate::protocol::service::search::SearchOptions;

/// The database to search if neither the target nor its profile names one.
pub const DEFAULT_DATABASE: &str = "Default";

/// The number of records per Present, unless the profile sets a different number.
const CHUNK: u64 = 20;

/// The maximum number of records per Present in a long range, unless the profile sets a different number.
const MAX_CHUNK: u64 = 500;

/// The form in which to request records. The default is the form in the target's profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordForm {
    /// The record syntax. If it is `None`, the syntax in the profile is requested, or USMARC if the profile has none,
    /// followed by other MARC syntaxes, XML, and the server's own choice.
    pub syntax: Option<Oid>,
    /// The element set name, such as `F` or `B`.
    pub element_set: Option<String>,
    /// Whether to request OPAC records, which describe copies and their availability. This has no effect if the server
    /// does not offer OPAC records, or if a `syntax` is set.
    pub holdings: bool,
}

impl RecordForm {
    /// Creates a form with this element set and, if it is given, this syntax.
    pub fn new(syntax: Option<Oid>, element_set: Option<String>) -> Self {
        Self {
            syntax,
            element_set,
            holdings: false,
        }
    }

    /// Creates a form for records with holdings. From a server without such records, records are requested in the form
    /// of the target's profile.
    pub fn with_holdings() -> Self {
        Self {
            holdings: true,
            ..Self::default()
        }
    }
}

impl Resolved {
    /// Returns the databases to search, which the target or its profile names. If neither names any, this is the
    /// database `Default`, or the database at the root of an SRU server.
    pub fn databases(&self) -> Vec<DatabaseName> {
        match (self.databases.is_empty(), self.endpoint.is_sru()) {
            (true, true) => vec!["".into()],
            (true, false) => vec![DEFAULT_DATABASE.into()],
            (false, _) => self.databases.clone(),
        }
    }

    /// Returns the options for a search that requests records in this form.
    pub fn search_options(&self, form: &RecordForm) -> SearchOptions {
        SearchOptions {
            databases: self.databases(),
            element_set: self.element_set(form),
            record_syntax: Some(self.syntax(form)),
            ..SearchOptions::default()
        }
    }

    /// Returns the options for a pager of records in this form: the form, its alternatives, and the chunk size.
    pub fn pager_options(&self, form: &RecordForm) -> PagerOptions {
        PagerOptions {
            present: PresentOptions {
                element_set: self.element_set(form),
                record_syntax: Some(self.syntax(form)),
                ..PresentOptions::default()
            },
            alternatives: self.alternatives(form),
            element_sets: self.smaller_sets(form),
            chunk_size: self.profile.chunk.map_or(CHUNK, u64::from).max(1),
            max_chunk_size: self.profile.chunk.map_or(MAX_CHUNK, u64::from),
            ..PagerOptions::default()
        }
    }

    /// Returns the record syntax to request first.
    pub fn syntax(&self, form: &RecordForm) -> Oid {
        let of_holdings = form.holdings.then_some(OPAC);
        let syntax = form.syntax.or(of_holdings);
        syntax.unwrap_or_else(|| self.plain_syntax())
    }

    /// Returns the record syntaxes that a form names explicitly, most preferred first. The list is empty if the profile
    /// decides.
    pub(crate) fn named_syntaxes(&self, form: &RecordForm) -> Vec<Oid> {
        match (form.syntax, form.holdings) {
            (Some(syntax), _) => vec![syntax],
            (None, true) => vec![OPAC, self.plain_syntax()],
            (None, false) => Vec::new(),
        }
    }

    /// Returns the record syntax in the profile, or the default.
    fn plain_syntax(&self) -> Oid {
        self.profile.record_syntax.unwrap_or(USMARC)
    }

    /// Returns the record syntaxes to try if the server does not support the first one: the syntax in the profile, MARC
    /// 21, UNIMARC, XML, and the server's choice. The list is empty if a syntax was requested explicitly.
    fn alternatives(&self, form: &RecordForm) -> Vec<Option<Oid>> {
        if form.syntax.is_some() {
            return Vec::new();
        }
        let first = self.syntax(form);
        let plain = self.plain_syntax();
        let common = [USMARC, UNIMARC, XML].into_iter();
        let others = [plain]
            .into_iter()
            .chain(common.filter(|one| *one != plain));
        let others = others.filter(|syntax| *syntax != first);
        others.map(Some).chain([None]).collect()
    }

    /// Returns the element sets to try for a record that is too large or empty: full, then brief. The list is empty if
    /// an element set was requested explicitly.
    fn smaller_sets(&self, form: &RecordForm) -> Vec<InternationalString> {
        if form.element_set.is_some() {
            return Vec::new();
        }
        let first = self.element_set(form);
        let sets = ["F", "B"].into_iter().map(InternationalString::from);
        sets.filter(|name| Some(name) != first.as_ref()).collect()
    }

    fn element_set(&self, form: &RecordForm) -> Option<InternationalString> {
        let of_profile = self.profile.element_set.as_ref();
        let element_set = form.element_set.as_ref().or(of_profile);
        element_set.map(|name| name.as_str().into())
    }

    /// Applies the attributes and the character set in the profile to a query.
    ///
    /// # Errors
    /// Fails if the character set cannot represent a term.
    pub fn adapted(&self, query: &RpnQuery) -> Result<RpnQuery, UnencodableText> {
        let mut query = query.clone();
        self.adapt(&mut query)?;
        Ok(query)
    }

    pub(crate) fn adapt(&self, query: &mut RpnQuery) -> Result<(), UnencodableText> {
        for operand in query.rpn.terms_mut() {
            self.profile.indexed(&mut operand.attributes);
        }
        self.complete(query)
    }

    /// Adapts a query like [`Self::adapt`], but does not change the indexes of its operands.
    pub(crate) fn complete(&self, query: &mut RpnQuery) -> Result<(), UnencodableText> {
        self.profile.attributes.add_missing(query);
        if let Some(charset) = self.profile.query_charset {
            for operand in query.rpn.terms_mut() {
                encode(&mut operand.term, charset)?;
            }
        }
        Ok(())
    }
}

/// Encodes a term in the character set. A term that is not UTF-8 is not changed.
fn encode(term: &mut Term, charset: Charset) -> Result<(), UnencodableText> {
    if let Term::General(octets) = term
        && let Ok(text) = std::str::from_utf8(octets.as_bytes())
    {
        *octets = charset.encode(text)?.into();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::profile::Profiles;

    #[test]
    fn each_syntax_is_requested_once() {
        let target = Profiles::default()
            .resolve("lib.example/cat")
            .expect("a target");
        let options = target.pager_options(&RecordForm::default());
        assert_eq!(options.present.record_syntax, Some(USMARC));
        assert_eq!(options.alternatives, [Some(UNIMARC), Some(XML), None]);
        assert_eq!(options.element_sets, ["F".into(), "B".into()]);
        let options = target.pager_options(&RecordForm::new(Some(XML), None));
        assert_eq!(
            (options.present.record_syntax, options.alternatives.len()),
            (Some(XML), 0)
        );
        let options = target.pager_options(&RecordForm::with_holdings());
        assert_eq!(options.present.record_syntax, Some(OPAC));
        let others = [Some(USMARC), Some(UNIMARC), Some(XML), None];
        assert_eq!(options.alternatives, others);
    }

    #[test]
    fn a_database_is_always_named() {
        let databases = |text| Profiles::default().resolve(text).expect(text).databases();
        assert_eq!(databases("lib.example"), [DEFAULT_DATABASE.into()]);
        assert_eq!(databases("lib.example/a+b"), ["a".into(), "b".into()]);
    }
}
