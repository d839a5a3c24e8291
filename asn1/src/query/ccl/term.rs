//! The terms of a CCL query. Words are joined, listed or split according to their qualifiers, and attributes are added
//! for truncation and masks.

use std::ops::Range;

use super::super::{QueryError, QueryErrorKind};
use super::bib::{Attribute, BibValue};
use super::parse::{Parser, Qualifiers, Tree};
use super::token::{Kind, Token};
use crate::apdu::{AttributeElement, AttributeValue, AttributesPlusTerm, Operand, Operator, Term};
use crate::bib1::attributes::{STRUCTURE, TRUNCATION, USE};
use crate::oid::Oid;

/// The maximum number of words in one term, as in YAZ.
const MAX_WORDS: usize = 200;

/// The characters that have a special meaning in regular expressions (truncation 102).
const REGEX_SIGNS: &[u8] = b"^[]{}()|.*+?!$";

/// The grouping of words into terms.
#[derive(Clone, Copy, Default)]
struct Grouping {
    phrase: bool,
    /// Whether the structure attribute is added even without `s=pw`.
    structure: bool,
}

/// The way to express truncation and masks.
#[derive(Clone, Copy)]
enum Style {
    /// The truncation attribute, which allows truncation only at the ends of the term.
    Ends,
    /// A regular expression (truncation 102).
    Regex,
    /// Symbols within the term (truncation 104).
    Mask,
}

/// Returns the attribute by which the qualifiers allow a special value from the bib file. The first qualifier with an
/// attribute of that type decides.
pub(super) fn allowed<'b>(
    qualifiers: &Qualifiers<'b>,
    attribute_type: i64,
    special: &'static str,
) -> Option<&'b Attribute> {
    let is_of_type = |attribute: &&Attribute| {
        attribute.attribute_type == attribute_type && !matches!(attribute.value, BibValue::Name(_))
    };
    let qualifier = qualifiers
        .iter()
        .find(|one| one.attributes.iter().any(|of| is_of_type(&of)))?;
    let mut of_type = qualifier.attributes.iter().filter(is_of_type);
    of_type.find(|attribute| attribute.value == BibValue::Special(special))
}

impl<'b> Parser<'_, 'b> {
    /// Parses the next words, and groups them according to the qualifiers.
    pub(super) fn words(&mut self, qualifiers: &Qualifiers<'b>) -> Result<Tree, QueryError> {
        let structured = |special| allowed(qualifiers, STRUCTURE, special).is_some();
        if structured("sl") {
            return self.split_list(qualifiers);
        }
        let and_list = structured("al");
        let auto_group = structured("ag");
        let or_list = structured("ol");
        let most = if and_list || or_list { 1 } else { MAX_WORDS };
        let operator = if or_list { Operator::Or } else { Operator::And };
        let mut tree = None;
        loop {
            self.pass_commas(qualifiers);
            let mut words = Vec::new();
            let mut grouping = Grouping {
                phrase: false,
                structure: auto_group,
            };
            while words.len() < most && self.token().in_term() {
                let phrase = self.token().text(self.query).contains(' ');
                if auto_group {
                    if !words.is_empty() && (grouping.phrase || phrase) {
                        break;
                    }
                    grouping.phrase = phrase;
                } else {
                    grouping.phrase |= phrase || !words.is_empty();
                }
                words.push(*self.token());
                self.advance();
            }
            if words.is_empty() {
                return tree
                    .map(|(tree, _)| tree)
                    .ok_or_else(|| self.missing("a term"));
            }
            let term = self.term(&words, qualifiers, grouping)?;
            tree = Some((self.joined(tree, term)?, operator.clone()));
        }
    }

    /// Parses a single word, which is one end of a range.
    pub(super) fn single_word(
        &mut self,
        word: Token,
        qualifiers: &Qualifiers<'b>,
    ) -> Result<Tree, QueryError> {
        let grouping = Grouping {
            phrase: word.text(self.query).contains(' '),
            structure: allowed(qualifiers, STRUCTURE, "ag").is_some(),
        };
        self.term(&[word], qualifiers, grouping)
    }

    /// Skips the commas between the words of an and-list.
    pub(super) fn pass_commas(&mut self, qualifiers: &Qualifiers<'b>) {
        let and_list = allowed(qualifiers, STRUCTURE, "al").is_some();
        while and_list && self.token().kind == Kind::Comma {
            self.advance();
        }
    }

    /// Returns every way to divide the words into phrases, in order: `a b` is `(a and b) or "a b"`.
    fn split_list(&mut self, qualifiers: &Qualifiers<'b>) -> Result<Tree, QueryError> {
        let mut words = Vec::new();
        while self.token().in_term() {
            words.push(*self.token());
            self.advance();
        }
        // The maximum length of a phrase bounds the size of the result.
        let longest = match words.len() {
            0 => return Err(self.missing("a term")),
            1..=4 => 3,
            5 | 6 => 2,
            _ => 1,
        };
        // The trees are built from the end: each covers the words from one position to the last word.
        let mut trees: Vec<Tree> = Vec::new();
        for at in (0..words.len()).rev() {
            let mut tree = None;
            for length in 1..=longest.min(words.len() - at) {
                let phrase = words.get(at..at + length).unwrap_or_default();
                let grouping = Grouping {
                    phrase: length > 1,
                    structure: false,
                };
                let mut split = self.term(phrase, qualifiers, grouping)?;
                let after = trees.len().checked_sub(length);
                let after = after.and_then(|after| match longest {
                    1 => trees.pop(),
                    _ => trees.get(after).cloned(),
                });
                if let Some(after) = after {
                    self.spend(after.size)?;
                    split = self.joined(Some((split, Operator::And)), after)?;
                }
                tree = Some((self.joined(tree, split)?, Operator::Or));
            }
            trees.extend(tree.map(|(tree, _)| tree));
        }
        trees.pop().ok_or_else(|| self.missing("a term"))
    }

    /// Returns the words as one term, or as one term for each Use attribute of the first qualifier.
    fn term(
        &mut self,
        words: &[Token],
        qualifiers: &Qualifiers<'b>,
        grouping: Grouping,
    ) -> Result<Tree, QueryError> {
        let first = qualifiers.first();
        let uses = first
            .into_iter()
            .flat_map(|qualifier| &qualifier.attributes)
            .filter(|attribute| attribute.attribute_type == USE);
        let mut tree = None;
        for attribute in uses {
            let one = self.term_of(words, qualifiers, grouping, Some(attribute))?;
            tree = Some((self.joined(tree, one)?, Operator::Or));
        }
        match tree {
            Some((tree, _)) => Ok(tree),
            None => self.term_of(words, qualifiers, grouping, None),
        }
    }

    fn term_of(
        &mut self,
        words: &[Token],
        qualifiers: &Qualifiers<'b>,
        grouping: Grouping,
        only_use: Option<&Attribute>,
    ) -> Result<Tree, QueryError> {
        let offset = words.first().map_or(0, |word| word.start);
        let mut attributes: Vec<AttributeElement> = Vec::new();
        let mut structured = false;
        for attribute in qualifiers.iter().flat_map(|one| &one.attributes) {
            if attribute.attribute_type == USE
                && only_use.is_some_and(|only| !std::ptr::eq(only, attribute))
            {
                continue;
            }
            let Some(value) = attribute.sent() else {
                continue;
            };
            if attribute.attribute_type == STRUCTURE && matches!(value, AttributeValue::Numeric(_))
            {
                if structured {
                    continue;
                }
                structured = true;
            }
            attributes.push(AttributeElement {
                attribute_set: set(attribute, offset)?,
                attribute_type: attribute.attribute_type,
                attribute_value: value,
            });
        }
        let phrase_or_word = allowed(qualifiers, STRUCTURE, "pw");
        if !structured && (grouping.structure || phrase_or_word.is_some()) {
            let by = phrase_or_word.filter(|_| !grouping.structure);
            let value = if grouping.phrase { 1 } else { 2 };
            attributes.push(numeric(by, STRUCTURE, value, offset)?);
        }
        let (term, truncation) = self.written(words, qualifiers, offset)?;
        attributes.extend(truncation);
        let size = term.len() + (1 + attributes.len()) * size_of::<AttributeElement>();
        self.spend(size)?;
        let term = Term::General(term.into());
        let operand = AttributesPlusTerm { attributes, term };
        Ok(Tree::operand(Operand::AttributesPlusTerm(operand), size))
    }

    /// Returns the octets of a term, and the attribute for its truncation or masks.
    fn written(
        &self,
        words: &[Token],
        qualifiers: &Qualifiers<'b>,
        offset: usize,
    ) -> Result<(Vec<u8>, Option<AttributeElement>), QueryError> {
        let may = |special| allowed(qualifiers, TRUNCATION, special);
        let mut signs = words.iter().flat_map(|word| self.pieces(word));
        let has_signs = signs.any(|(sign, _)| !matches!(sign, TermSign::Octet(..)));
        let style = if has_signs && may("x").is_some() {
            Style::Regex
        } else if has_signs && may("z").is_some() {
            Style::Mask
        } else {
            Style::Ends
        };
        let mut term = Vec::new();
        let (mut left, mut right) = (None, None);
        for (number, word) in words.iter().enumerate() {
            if !term.is_empty() {
                let blank = word.start.saturating_sub(word.blank)..word.start;
                term.extend_from_slice(self.query.get(blank).unwrap_or_default().as_bytes());
            }
            for (sign, place) in self.pieces(word) {
                let first = number == 0 && place.start == word.start;
                let last = number + 1 == words.len() && place.end == word.end;
                let refused = |what| Err(QueryErrorKind::Truncation(what).at(place.start));
                match (sign, style) {
                    (TermSign::Octet(octet, escaped), style) => {
                        let a_sign = match style {
                            Style::Ends => false,
                            Style::Regex => {
                                REGEX_SIGNS.contains(&octet) || (escaped && octet == b'\\')
                            }
                            Style::Mask => matches!(octet, b'#' | b'?' | b'\\'),
                        };
                        if a_sign {
                            term.push(b'\\');
                        }
                        term.push(octet);
                    }
                    (TermSign::Truncation, Style::Regex) => term.extend_from_slice(b".*"),
                    (TermSign::Truncation, Style::Mask) => term.push(b'?'),
                    (TermSign::Truncation, Style::Ends) if first => left = Some(place.start),
                    (TermSign::Truncation, Style::Ends) if last => right = Some(place.start),
                    (TermSign::Truncation, Style::Ends) => {
                        return refused("truncation inside a term");
                    }
                    (TermSign::Mask, Style::Regex) => term.push(b'.'),
                    (TermSign::Mask, Style::Mask) => term.push(b'#'),
                    (TermSign::Mask, Style::Ends) => return refused("a mask"),
                }
            }
        }
        let (special, value, signs) = match (left, right, style) {
            (Some(_), Some(at), _) => ("b", 3, Some((at, "truncation on both sides"))),
            (None, Some(at), _) => ("r", 1, Some((at, "truncation on the right"))),
            (Some(at), None, _) => ("l", 2, Some((at, "truncation on the left"))),
            (None, None, Style::Regex) => ("x", 102, None),
            (None, None, Style::Mask) => ("z", 104, None),
            (None, None, Style::Ends) => ("n", 100, None),
        };
        match (may(special), signs) {
            (None, None) => Ok((term, None)),
            (None, Some((at, name))) => Err(QueryErrorKind::Truncation(name).at(at)),
            (by, _) => Ok((term, Some(numeric(by, TRUNCATION, value, offset)?))),
        }
    }

    /// Returns the octets of a word that is not a term. Truncation symbols have no meaning in it.
    pub(super) fn octets(&self, word: &Token) -> impl Iterator<Item = u8> {
        let signs = TermParts {
            truncation: &[],
            mask: &[],
            ..self.pieces(word)
        };
        signs.filter_map(|(sign, _)| match sign {
            TermSign::Octet(octet, _) => Some(octet),
            TermSign::Truncation | TermSign::Mask => None,
        })
    }

    /// Returns the octets and symbols of a word, without its quotes and backslashes.
    fn pieces(&self, word: &Token) -> TermParts<'_> {
        TermParts {
            word: word.text(self.query).as_bytes(),
            offset: word.start,
            quoted: false,
            truncation: &self.bib.truncation,
            mask: &self.bib.mask,
        }
    }
}

/// Returns a numeric attribute in the attribute set of `by`, the attribute in the bib file that allows this value.
pub(super) fn numeric(
    by: Option<&Attribute>,
    attribute_type: i64,
    value: i64,
    offset: usize,
) -> Result<AttributeElement, QueryError> {
    Ok(AttributeElement {
        attribute_set: by.map_or(Ok(None), |attribute| set(attribute, offset))?,
        ..AttributeElement::numeric(attribute_type, value)
    })
}

fn set(attribute: &Attribute, offset: usize) -> Result<Option<Oid>, QueryError> {
    let unknown = |name: &String| QueryErrorKind::AttributeSet(name.clone()).at(offset);
    attribute.set.as_ref().map_err(unknown).copied()
}

#[derive(Clone, Copy)]
enum TermSign {
    /// An octet of the term, and whether it follows a backslash.
    Octet(u8, bool),
    Truncation,
    Mask,
}

struct TermParts<'a> {
    word: &'a [u8],
    offset: usize,
    quoted: bool,
    truncation: &'a [String],
    mask: &'a [String],
}

impl Iterator for TermParts<'_> {
    /// A symbol and its range in the query.
    type Item = (TermSign, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (sign, length) = match self.word {
                [] => return None,
                [b'\\', octet, ..] => (TermSign::Octet(*octet, true), 2),
                [b'"', rest @ ..] => {
                    self.quoted = !self.quoted;
                    self.word = rest;
                    self.offset += 1;
                    continue;
                }
                [octet, ..] => match self.sign() {
                    Some(sign) => sign,
                    None => (TermSign::Octet(*octet, false), 1),
                },
            };
            let start = self.offset;
            self.offset += length;
            self.word = self.word.get(length..).unwrap_or_default();
            return Some((sign, start..self.offset));
        }
    }
}

impl TermParts<'_> {
    /// Returns the truncation symbol or mask at the start of the text, and its length.
    fn sign(&self) -> Option<(TermSign, usize)> {
        let stands = |signs: &[String]| {
            signs
                .iter()
                .find(|sign| self.word.starts_with(sign.as_bytes()))
                .map(String::len)
        };
        if self.quoted {
            return None;
        }
        let truncation = stands(self.truncation).map(|length| (TermSign::Truncation, length));
        truncation.or_else(|| stands(self.mask).map(|length| (TermSign::Mask, length)))
    }
}
