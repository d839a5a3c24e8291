//! The subject of an input of `lookup`: identifiers, or the publication that a record without identifiers describes.

use std::fmt;

use z3950::find::Subject as RecordSubject;
use z3950::find::Wanted;
use z3950::lookup::{
    Identifier, Kind, Match, Publication, cataloguing_language, holds, identifiers, matched,
};
use z3950_asn1::apdu::External;
use z3950_marc::MarcRecord;
use z3950_marc::charset::{self, to_utf8};

use crate::answer::{Ask, KeyOf};
use crate::console::exit::Exit;
use crate::render::shown;

/// The subject of an input.
pub(super) enum LookupSubject {
    Identifiers(Vec<Identifier>),
    Publication(Box<Publication>),
}

/// The subject of a found record: one of the identifiers, or the publication.
#[derive(Clone, Copy)]
pub(super) enum Subject<'a> {
    Identifier(&'a Identifier),
    Publication(&'a Publication),
}

/// The settings for parsing inputs.
#[derive(Clone, Copy, Default)]
pub(super) struct InputSettings {
    /// The kind of identifiers without a prefix; `None` to detect it from their form.
    pub(super) kind: Option<Kind>,
    /// Whether records without identifiers are looked up by title.
    pub(super) by_title: bool,
}

impl InputSettings {
    /// Returns the subject of an input, or an exit code with the reason why the input cannot be looked up.
    pub(super) fn read(self, ask: &Ask) -> Result<LookupSubject, (Exit, String)> {
        let is_record = ask.origin.as_ref().is_some_and(|origin| origin.is_record);
        match &ask.record {
            Some(record) => self.of_record(record).map_err(|words| {
                // A record without an identifier cannot match anything.
                (Exit::NoMatch, format!("{ask}: {words}"))
            }),
            None if is_record => Err((Exit::FaultsFound, ask.to_string())),
            None => match Identifier::read_all(&shown(&ask.input), self.kind) {
                Ok(found) => Ok(LookupSubject::Identifiers(found)),
                Err(error) => Err((Exit::Usage, error.to_string())),
            },
        }
    }

    fn of_record(self, record: &MarcRecord) -> Result<LookupSubject, &'static str> {
        let found = identifiers(record);
        if !found.is_empty() {
            return Ok(LookupSubject::Identifiers(found));
        }
        if !self.by_title {
            return Err(NO_IDENTIFIER);
        }
        let record = to_utf8(record, &charset::Options::default()).record;
        let publication = Publication::of(&record).ok_or(NO_TITLE)?;
        Ok(LookupSubject::Publication(Box::new(publication)))
    }

    /// Returns a function that computes keys for inputs. Inputs that lead to the same lookup have the same key. If the
    /// best record is chosen, the choice may also depend on the input record.
    pub(super) fn key_of(self, is_best: bool) -> KeyOf {
        Box::new(move |ask: &Ask| {
            let mut key = match self.read(ask).ok()? {
                LookupSubject::Identifiers(identifiers) => {
                    let each = identifiers.iter().map(|identifier| {
                        let cancelled = if identifier.is_cancelled { "-" } else { "" };
                        format!("{cancelled}{} ", identifier.normalized())
                    });
                    each.collect::<String>()
                }
                LookupSubject::Publication(publication) => {
                    format!("title:{}", publication.normalized())
                }
            };
            let record = ask.record.as_deref().filter(|_| is_best);
            key += &record.and_then(cataloguing_language).unwrap_or_default();
            Some(key)
        })
    }
}

const NO_IDENTIFIER: &str =
    "no identifier in 010, 020, 022 or 035; --by-title looks it up by title, author and year";
const NO_TITLE: &str = "neither an identifier in 010, 020, 022 or 035 nor a title in 245";

impl LookupSubject {
    /// Returns the request for this subject, with the settings of `wanted`.
    pub(super) fn wanted(&self, wanted: &Wanted) -> Wanted {
        let mut wanted = wanted.clone();
        wanted.subject = match self {
            Self::Identifiers(identifiers) => RecordSubject::Identifiers(identifiers.clone()),
            Self::Publication(publication) => RecordSubject::Publication(publication.clone()),
        };
        wanted
    }

    /// Returns the first identifier, which represents all of them in messages, or the publication.
    pub(super) fn first(&self) -> Option<Subject<'_>> {
        self.subject(Some(0))
    }

    /// Returns the identifier with this index, or the publication.
    pub(super) fn subject(&self, index: Option<usize>) -> Option<Subject<'_>> {
        match self {
            Self::Identifiers(identifiers) => Some(Subject::Identifier(identifiers.get(index?)?)),
            Self::Publication(publication) => Some(Subject::Publication(publication)),
        }
    }

    /// Returns all identifiers in the form used in `--json` objects; `None` for a publication.
    pub(super) fn identifiers(&self) -> Option<String> {
        match self {
            Self::Identifiers(_) => Some(self.to_string()),
            Self::Publication(_) => None,
        }
    }

    /// Returns whether the subject has several identifiers.
    pub(super) fn is_several(&self) -> bool {
        matches!(self, Self::Identifiers(identifiers) if identifiers.len() > 1)
    }
}

impl fmt::Display for LookupSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identifiers(identifiers) => {
                let all: Vec<String> = identifiers.iter().map(ToString::to_string).collect();
                f.write_str(&all.join(" "))
            }
            Self::Publication(publication) => Subject::Publication(publication).fmt(f),
        }
    }
}

impl<'a> Subject<'a> {
    pub(super) fn identifier(self) -> Option<&'a Identifier> {
        match self {
            Self::Identifier(identifier) => Some(identifier),
            Self::Publication(_) => None,
        }
    }

    /// Returns where a record contains the identifier; `None` if it does not, or if the subject is a publication.
    pub(super) fn matched(self, record: &External) -> Option<Match> {
        matched(self.identifier()?, record)
    }

    /// Returns whether the record certainly does not contain the identifier.
    pub(super) fn is_lacking(self, record: &External) -> bool {
        let identifier = self.identifier();
        identifier.is_some_and(|identifier| holds(identifier, record) == Some(false))
    }

    /// If the identifier is doubtful, returns the reason.
    pub(super) fn doubt(self) -> Option<String> {
        self.identifier()?.doubt()
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Identifier(identifier) => identifier.fmt(f),
            Self::Publication(publication) => {
                f.write_str(&shown(publication.to_string().as_bytes()))
            }
        }
    }
}
