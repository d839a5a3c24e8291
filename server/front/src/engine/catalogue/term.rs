//! Determines the meaning of a term with its attributes in a catalogue, if the fields of the index can express this
//! meaning. Any other term is refused with the diagnostic for the unsupported attribute, and is never interpreted in a
//! different way (Z39.50-2003 Appendix ATR.1, conditions 113 to 126).
//!
//! The text of a term is split at spaces, and at punctuation if it has masks, but never folded: the engine folds it
//! in the same way as the records.

use std::sync::Arc;

use z3950_asn1::apdu::{AttributesPlusTerm, ProximityOperator, RelationType};
use z3950_asn1::bib1::attributes::{
    COMPLETENESS, COMPLETENESS_INCOMPLETE_SUBFIELD, POSITION, POSITION_ANY, RELATION, STRUCTURE,
    STRUCTURE_WORD, TRUNCATION,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_marc::standard_number::Isbn;
use z3950_server::memory::index_map::{Edge, Edges, IndexId, WordOrder, WrittenTerm};
use z3950_server::memory::{Kind, Profile};
use z3950_server::{Diagnostic, diagnostic};

use super::leaf::{CatalogueLeaf, Placed, Spans, Wanted, Word, WordPart};
use super::map::Role;
use super::masks::{one_word, open_word, open_words, split_masked};
use super::offer::{Offer, Point};
use super::plan::Clause;
use crate::engine::clause::spans::{self, Farthest, Places};
use crate::engine::clause::{Found, TermReader};

/// The conditions on word positions that an engine can express.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skills {
    /// The maximum distance between words; at higher distances, the engine would match words in different values.
    pub(super) farthest: u32,
    /// Whether words can be at an exact distance.
    pub(super) gaps: bool,
    /// Whether phrases and distances can have masks.
    pub(super) masked_phrases: bool,
    /// Whether words can be required to end a value without beginning it.
    pub(super) ends: bool,
}

/// The maximum number of words in a term.
const MOST_WORDS: usize = 256;
/// The maximum number of octets in an identifier.
const MOST_IDENTIFIER: usize = 512;

/// The meaning of a term in an index.
type FoundTerm = Found<CatalogueLeaf, Places<Placed>>;

impl TermReader for Offer {
    type Leaf = CatalogueLeaf;
    type Places = Places<Placed>;

    fn profile(&self) -> &Profile {
        self.indexes.profile()
    }

    fn term(
        &self,
        attribute_set: &Oid,
        term: &AttributesPlusTerm,
    ) -> Result<FoundTerm, Diagnostic> {
        let written = self.indexes.written(attribute_set, term)?;
        let unknown = || diagnostic(Condition::USE, "");
        let point = self.point(written.index()).ok_or_else(unknown)?;
        let reading = Reading {
            point,
            written,
            skills: self.engine.skills(),
        };
        let (clause, places) = reading.clause()?;
        if !reading.written.is_negated() {
            let index = reading.written.index();
            let places = places.map(|places| (index, places));
            return Ok(Found { clause, places });
        }
        let having = reading.having();
        Ok(Found::without_places(having.and_not(clause)))
    }

    fn near(
        &self,
        operator: &ProximityOperator,
        left: FoundTerm,
        right: FoundTerm,
    ) -> Result<FoundTerm, Diagnostic> {
        let skills = self.engine.skills();
        let mut has_edges = false;
        for (_, spans) in [&left.places, &right.places].into_iter().flatten() {
            spans.each_words(&mut |words| has_edges |= words.has_edges());
        }
        if has_edges {
            let why = "operands with position or completeness";
            return Err(diagnostic(Condition::PROXIMITY, why));
        }
        if !skills.gaps {
            if operator.relation_type == RelationType::EQUAL && operator.distance != 1 {
                let relation = operator.relation_type.0.to_string();
                return Err(diagnostic(Condition::PROXIMITY_RELATION, relation));
            }
            let is_nested =
                |found: &FoundTerm| matches!(&found.places, Some((_, Spans::Near { .. })));
            if is_nested(&left) || is_nested(&right) {
                return Err(diagnostic(Condition::PROXIMITY, "operands with proximity"));
            }
        }
        let point_of = |index: IndexId| self.point(index).cloned();
        let index = left.places.as_ref().map(|(index, _)| *index);
        let unknown = || diagnostic(Condition::PROXIMITY_OF_SETS, "");
        let point = index.and_then(point_of).ok_or_else(unknown)?;
        let farthest = Farthest::Engine(skills.farthest);
        spans::near(operator, left, right, farthest, |_, spans| CatalogueLeaf {
            point: Arc::clone(&point),
            wanted: Wanted::Spans(spans),
        })
    }
}

/// A term, with the index in which it is searched and the conditions on word positions that the engine can express.
struct Reading<'o, 'q> {
    point: &'o Arc<Point>,
    written: WrittenTerm<'q>,
    skills: Skills,
}

impl Reading<'_, '_> {
    fn leaf(&self, wanted: Wanted) -> Clause {
        Clause::Leaf(CatalogueLeaf {
            point: Arc::clone(self.point),
            wanted,
        })
    }

    /// Returns the clause for the records with a value in the index. For the indexes `docid` and `any`, these are all
    /// records.
    fn having(&self) -> Clause {
        match self.written.index() {
            IndexId::DOCID | IndexId::ANY => Clause::Everything,
            _ => self.leaf(Wanted::Exists),
        }
    }

    /// Returns the clause for the term, and its places if it is a word or phrase.
    fn clause(&self) -> Result<(Clause, Option<Spans>), Diagnostic> {
        if self.written.is_always_matches() {
            return Ok((self.having(), None));
        }
        if self.written.is_expression() {
            return Err(self.refused(Condition::TRUNCATION, TRUNCATION));
        }
        match self.point.kind {
            Kind::Octets => Ok((self.identifier()?, None)),
            Kind::Text => self.text(),
            Kind::Date => Ok((self.date()?, None)),
            _ => Ok((self.key()?, None)),
        }
    }

    /// Returns the diagnostic for an attribute that the index does not support.
    fn refused(&self, condition: Condition, attribute_type: i64) -> Diagnostic {
        let value = self.written.value(attribute_type);
        let value = value.map(|value| value.to_string());
        diagnostic(condition, value.unwrap_or_default())
    }

    /// Returns the diagnostic for an index that does not have fields for a use.
    fn without_fields(&self) -> Diagnostic {
        diagnostic(Condition::USE, &*self.point.name)
    }

    fn identifier(&self) -> Result<Clause, Diagnostic> {
        if self.written.open_ends() != (false, false) {
            return Err(self.refused(Condition::TRUNCATION, TRUNCATION));
        }
        let id = self.written.text.trim();
        if id.is_empty() || id.len() > MOST_IDENTIFIER {
            return Ok(Clause::Nothing);
        }
        let ids = [id.to_owned()];
        Ok(self.leaf(Wanted::Identifiers(Arc::new(ids))))
    }

    fn text(&self) -> Result<(Clause, Option<Spans>), Diagnostic> {
        let text = self.written.text.trim();
        let range = self.written.range(text, None)?;
        if !text.chars().any(char::is_alphanumeric) {
            return Err(self.written.malformed());
        }
        if let Some(range) = range {
            if self.written.value(STRUCTURE) == Some(STRUCTURE_WORD)
                || !self.point.has(Role::Ranges)
            {
                return Err(self.refused(Condition::RELATION, RELATION));
            }
            return Ok((self.leaf(Wanted::Range(range)), None));
        }
        let order = self.written.order()?;
        let words = self.words(matches!(order, WordOrder::Phrase(_)))?;
        let is_masked = words.iter().any(|word| word.exact().is_none());
        match order {
            WordOrder::Phrase(edges) if edges != Edges::default() => {
                self.edged(words, edges, is_masked)
            }
            order => {
                let is_phrase = matches!(order, WordOrder::Phrase(_));
                self.unedged(words, is_phrase, order == WordOrder::All, is_masked)
            }
        }
    }

    /// Returns the clause for words that may be anywhere in a value, and their places if they are a word or phrase.
    fn unedged(
        &self,
        words: Vec<Word>,
        is_phrase: bool,
        all: bool,
        is_masked: bool,
    ) -> Result<(Clause, Option<Spans>), Diagnostic> {
        if !self.point.has(Role::Words) {
            return Err(self.without_fields());
        }
        let is_single = words.len() == 1;
        let is_in_order = is_phrase && !is_single;
        if is_masked && (!self.point.has(Role::Masks) || is_in_order && !self.skills.masked_phrases)
        {
            return Err(self.refused(Condition::TRUNCATION, TRUNCATION));
        }
        if !is_phrase && !is_single {
            return Ok((self.leaf(Wanted::Words { words, all }), None));
        }
        let spans = Spans::phrase(Placed {
            words,
            first: false,
            last: false,
        });
        Ok((self.leaf(Wanted::Spans(spans.clone())), Some(spans)))
    }

    /// Returns the clause for words that must be at an edge of the value, and their places. The edges of fields and of
    /// subfields are treated alike, because an engine that stores values does not distinguish them.
    fn edged(
        &self,
        words: Vec<Word>,
        edges: Edges,
        is_masked: bool,
    ) -> Result<(Clause, Option<Spans>), Diagnostic> {
        let (first, last) = (edges.first != Edge::Any, edges.last != Edge::Any);
        let is_open = |word: Option<&Word>, at: fn(&Word) -> Option<&WordPart>| {
            word.and_then(at) == Some(&WordPart::Any)
        };
        // A term with a truncated end does not reach the end of the value, so it may be only the beginning of the value.
        let is_beginning = first && is_open(words.last(), |word| word.0.last());
        let whole = self.point.has(Role::Whole);
        let can = match (first, last) {
            (true, true) if !whole && !is_masked && self.point.has(Role::Keys) => {
                let text = self.written.text.trim().to_owned();
                return Ok((self.leaf(Wanted::Keys(vec![text])), None));
            }
            (true, true) => whole,
            (true, false) => whole || self.point.has(Role::First),
            (false, true) => whole && self.skills.ends,
            (false, false) => return self.unedged(words, true, false, is_masked),
        };
        if !can {
            return Err(self.without_edges(last));
        }
        let needs_whole = is_masked && !is_beginning;
        if needs_whole && !whole {
            return Err(self.refused(Condition::TRUNCATION, TRUNCATION));
        }
        let spans = Spans::phrase(Placed { words, first, last });
        Ok((self.leaf(Wanted::Spans(spans.clone())), Some(spans)))
    }

    /// Returns the diagnostic for an edge that the index does not support. It is the diagnostic for the attribute that
    /// requires the edge.
    fn without_edges(&self, last: bool) -> Diagnostic {
        let value = |attribute_type| self.written.value(attribute_type);
        if last && value(COMPLETENESS) != Some(COMPLETENESS_INCOMPLETE_SUBFIELD) {
            self.refused(Condition::COMPLETENESS, COMPLETENESS)
        } else if value(POSITION) != Some(POSITION_ANY) {
            self.refused(Condition::POSITION, POSITION)
        } else {
            self.refused(Condition::STRUCTURE, STRUCTURE)
        }
    }

    /// Returns the words of the term. If they are a phrase (`in_order`), truncation applies only to the ends of the phrase; if not,
    /// it applies to every word.
    fn words(&self, in_order: bool) -> Result<Vec<Word>, Diagnostic> {
        let words = match self.written.masked() {
            Some(text) => split_masked(&text),
            None => Some(open_words(
                &self.written.text,
                self.written.open_ends(),
                in_order,
            )),
        };
        let words = words
            .filter(|words| !words.is_empty())
            .ok_or_else(|| self.written.malformed())?;
        if words.len() > MOST_WORDS {
            let most = MOST_WORDS.to_string();
            return Err(diagnostic(Condition::TOO_MANY_WORDS, most));
        }
        Ok(words)
    }

    fn date(&self) -> Result<Clause, Diagnostic> {
        self.written.check_structure()?;
        let text = self.written.text.trim();
        let has_dates = [Role::Years, Role::Days, Role::Stamps]
            .iter()
            .any(|role| self.point.has(*role));
        let is_open = self.written.open_ends() != (false, false) || self.written.masked().is_some();
        if is_open {
            return self.open_key();
        }
        let digits = self.written.key().ok_or_else(|| self.written.illegal())?;
        if let Some(range) = self.written.range(&digits, None)? {
            if !has_dates {
                return Err(self.refused(Condition::RELATION, RELATION));
            }
            return Ok(self.leaf(Wanted::Dates(range)));
        }
        if !has_dates && !self.point.has(Role::Words) {
            return Err(self.without_fields());
        }
        let text = text.to_owned();
        Ok(self.leaf(Wanted::Date { digits, text }))
    }

    /// Returns the clause that looks up a number or code.
    fn key(&self) -> Result<Clause, Diagnostic> {
        self.written.check_structure()?;
        let text = self.written.text.trim();
        if !text.chars().any(char::is_alphanumeric) {
            return Err(self.written.malformed());
        }
        if let Some(range) = self.written.range(text, None)? {
            if !self.point.has(Role::Ranges) {
                return Err(self.refused(Condition::RELATION, RELATION));
            }
            return Ok(self.leaf(Wanted::Range(range)));
        }
        if self.written.open_ends() != (false, false) || self.written.masked().is_some() {
            return self.open_key();
        }
        if !self.point.has(Role::Keys) && !self.point.has(Role::Words) {
            return Err(self.without_fields());
        }
        // If the term is not a number of this kind, nothing is found, as in the memory backend.
        let Some(key) = self.written.key() else {
            return Ok(Clause::Nothing);
        };
        let mut forms = match (self.point.kind, &self.point.table) {
            (_, Some(table)) => {
                let code = table.get(text).or_else(|| table.get(&text.to_lowercase()));
                vec![code.map_or(text, String::as_str).to_owned()]
            }
            (Kind::Isbn, _) => {
                let ten = Isbn::parse(&key).and_then(|isbn| isbn.ten());
                [key].into_iter().chain(ten).collect()
            }
            (Kind::Code | Kind::Language, _) => vec![text.to_owned()],
            _ => vec![key, text.to_owned()],
        };
        forms.dedup();
        Ok(self.leaf(Wanted::Keys(forms)))
    }

    /// Returns the term as one word with masks, or with open ends. A number is reduced to letters and digits; a code
    /// is kept unchanged.
    fn open_word(&self) -> Option<Word> {
        let is_code = matches!(self.point.kind, Kind::Code | Kind::Language);
        let part = |text: &str| {
            let text = text.trim();
            let is_part = |c: &char| is_code || c.is_alphanumeric();
            text.chars().filter(is_part).collect::<String>()
        };
        match self.written.masked() {
            // The placeholders of masks are letters, so they count as text.
            Some(text) => one_word(&part(&text)),
            None => {
                let text = part(&self.written.text);
                let (left, right) = self.written.open_ends();
                (!text.is_empty()).then(|| open_word(text, left, right))
            }
        }
    }

    /// Returns the clause that looks up a truncated or masked number, code or date. The beginning of an ISBN is also
    /// looked up with the prefix 978, in its form with 13 digits.
    fn open_key(&self) -> Result<Clause, Diagnostic> {
        let has_fields = self.point.has(Role::Keys) || self.point.has(Role::Masks);
        if !has_fields || self.point.table.is_some() {
            return Err(self.refused(Condition::TRUNCATION, TRUNCATION));
        }
        let word = self.open_word().ok_or_else(|| self.written.malformed())?;
        let beginning = word.beginning().filter(|_| self.point.kind == Kind::Isbn);
        let longer = beginning.map(|beginning| {
            let longer = WordPart::Text(format!("978{beginning}"));
            Word(vec![longer, WordPart::Any])
        });
        let forms = [Some(word), longer].into_iter().flatten();
        Ok(self.leaf(Wanted::OpenKeys(forms.collect())))
    }
}

#[cfg(test)]
mod tests;
