//! A request as a target wants it: what its profile says is laid under what the caller says. Everything that searches –
//! connections, commands, batches – goes through here.

use z3950_asn1::apdu::{DatabaseName, Operand, RpnQuery, RpnStructure, Term};
use z3950_asn1::oid::{Oid, UNIMARC, USMARC, XML};
use z3950_asn1::types::InternationalString;
use z3950_marc::charset::{Charset, Unwritable};

use super::profile::Resolved;
use crate::protocol::pager::PagerOptions;
use crate::protocol::service::present::PresentOptions;
use crate::protocol::service::search::SearchOptions;

/// What is searched where neither target nor profile names a database.
pub const DEFAULT_DATABASE: &str = "Default";

/// How many records are asked for at once where the profile does not say.
const CHUNK: u64 = 20;

/// The form that records are wanted in; by default the one of the target's profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordForm {
    /// The record syntax. Without one, the profile's, else USMARC; where the server has no such records, the other
    /// MARC syntaxes, XML and the server's own choice are tried in turn.
    pub syntax: Option<Oid>,
    /// The element set name, such as `F` or `B`.
    pub element_set: Option<String>,
}

impl RecordForm {
    /// Records in this syntax alone, where one is given, with this element set.
    pub fn new(syntax: Option<Oid>, element_set: Option<String>) -> Self {
        Self {
            syntax,
            element_set,
        }
    }
}

impl Resolved {
    /// The databases to search: those named, else those of the profile, else `Default`.
    pub fn databases(&self) -> Vec<DatabaseName> {
        match self.databases.is_empty() {
            true => vec![DEFAULT_DATABASE.into()],
            false => self.databases.clone(),
        }
    }

    /// How to search there for records of a form.
    pub fn search_options(&self, form: &RecordForm) -> SearchOptions {
        SearchOptions {
            databases: self.databases(),
            element_set: self.element_set(form),
            record_syntax: Some(self.syntax(form)),
            ..SearchOptions::default()
        }
    }

    /// How to have the records presented: their form, what else may be asked for, and how many at once.
    pub fn pager_options(&self, form: &RecordForm) -> PagerOptions {
        PagerOptions {
            present: PresentOptions {
                element_set: self.element_set(form),
                record_syntax: Some(self.syntax(form)),
                ..PresentOptions::default()
            },
            alternatives: self.alternatives(form),
            chunk_size: self.profile.chunk.map_or(CHUNK, u64::from).max(1),
            ..PagerOptions::default()
        }
    }

    /// The record syntax to ask for first.
    pub fn syntax(&self, form: &RecordForm) -> Oid {
        form.syntax.or(self.profile.record_syntax).unwrap_or(USMARC)
    }

    /// The record syntaxes to ask for in turn where none was named and the server does not have the first: MARC of either
    /// kind, MARC within XML, and what it has else.
    fn alternatives(&self, form: &RecordForm) -> Vec<Option<Oid>> {
        if form.syntax.is_some() {
            return Vec::new();
        }
        let first = self.syntax(form);
        let others = [USMARC, UNIMARC, XML].into_iter();
        let others = others.filter(|syntax| *syntax != first);
        others.map(Some).chain([None]).collect()
    }

    fn element_set(&self, form: &RecordForm) -> Option<InternationalString> {
        let of_profile = self.profile.element_set.as_ref();
        let element_set = form.element_set.as_ref().or(of_profile);
        element_set.map(|name| name.as_str().into())
    }

    /// The query as this server wants it: with the attributes of its profile, in its character set.
    ///
    /// # Errors
    /// A term that the character set cannot write.
    pub fn adapted(&self, query: &RpnQuery) -> Result<RpnQuery, Unwritable> {
        let mut query = query.clone();
        self.profile.attributes.lay_under(&mut query);
        let Some(charset) = self.profile.query_charset else {
            return Ok(query);
        };
        let mut waiting = vec![&mut query.rpn];
        while let Some(structure) = waiting.pop() {
            match structure {
                RpnStructure::Op(Operand::AttributesPlusTerm(operand)) => {
                    encode(&mut operand.term, charset)?;
                }
                RpnStructure::Op(_) => {}
                RpnStructure::RpnRpnOp(operation) => {
                    waiting.extend([&mut operation.rpn1, &mut operation.rpn2]);
                }
            }
        }
        Ok(query)
    }
}

/// A term that is not text in UTF-8 stays as it is.
fn encode(term: &mut Term, charset: Charset) -> Result<(), Unwritable> {
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
    fn each_syntax_is_asked_for_once() {
        let target = Profiles::default()
            .resolve("lib.example/cat")
            .expect("a target");
        let options = target.pager_options(&RecordForm::default());
        assert_eq!(options.present.record_syntax, Some(USMARC));
        assert_eq!(options.alternatives, [Some(UNIMARC), Some(XML), None]);
        let options = target.pager_options(&RecordForm::new(Some(XML), None));
        assert_eq!(
            (options.present.record_syntax, options.alternatives.len()),
            (Some(XML), 0)
        );
    }

    #[test]
    fn a_database_is_always_named() {
        let databases = |text| Profiles::default().resolve(text).expect(text).databases();
        assert_eq!(databases("lib.example"), [DEFAULT_DATABASE.into()]);
        assert_eq!(databases("lib.example/a+b"), ["a".into(), "b".into()]);
    }
}
