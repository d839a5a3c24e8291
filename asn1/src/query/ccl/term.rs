//! The terms of a CCL query: words joined, listed or split as their qualifiers say, truncation and masks,
//! and the attributes that go with them.

use super::super::{QueryError, QueryErrorKind};
use super::bib::{Attribute, BibValue, Special};
use super::parse::{Parser, Qualifiers, Tree};
use super::token::{Kind, Token};
use crate::apdu::{AttributeElement, AttributeValue, AttributesPlusTerm, Operand, Operator, Term};
use crate::bib1::attributes::{STRUCTURE, TRUNCATION, USE};
use crate::oid::Oid;

/// The most words that make one term, as in YAZ.
const MAX_WORDS: usize = 200;

/// Special characters of regular expressions (truncation 102).
const REGEX_SIGNS: &[u8] = b"^[]{}()|.*+?!$";

/// How the words of a term are grouped.
#[derive(Clone, Copy, Default)]
struct Grouping {
    phrase: bool,
    /// Whether the structure attribute is set even without `s=pw`.
    structure: bool,
}

/// The truncation and masks of a term.
#[derive(Default)]
struct Truncation {
    left: Option<usize>,
    right: Option<usize>,
    style: Style,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum Style {
    /// Only at the ends of the term, expressed by the truncation attribute.
    #[default]
    Ends,
    /// A regular expression, 102.
    Regex,
    /// Signs in the term, 104.
    Mask,
}

/// The attribute by which the qualifiers allow something: the first qualifier with an attribute of that type
/// decides.
pub(super) fn allowed<'b>(
    qualifiers: &Qualifiers<'b>,
    attribute_type: i64,
    special: Special,
) -> Option<&'b Attribute> {
    for qualifier in qualifiers.iter() {
        let mut of_type = qualifier.attributes().iter().filter(|attribute| {
            attribute.attribute_type == attribute_type
                && !matches!(attribute.value, BibValue::Name(_))
        });
        let first = of_type.next();
        if let Some(first) = first {
            return std::iter::once(first)
                .chain(of_type)
                .find(|attribute| attribute.value == BibValue::Special(special));
        }
    }
    None
}

impl<'b> Parser<'_, 'b> {
    /// The words that come next, grouped as the qualifiers say.
    pub(super) fn words(&mut self, qualifiers: &Qualifiers<'b>) -> Result<Tree, QueryError> {
        let structured = |special| allowed(qualifiers, STRUCTURE, special).is_some();
        if structured(Special::SplitList) {
            return self.split_list(qualifiers);
        }
        let and_list = structured(Special::AndList);
        let auto_group = structured(Special::AutoGroup);
        let or_list = structured(Special::OrList);
        let most = match and_list || or_list {
            true => 1,
            false => MAX_WORDS,
        };
        let operator = match or_list {
            true => Operator::Or,
            false => Operator::And,
        };
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

    /// A single word, as an end of a range.
    pub(super) fn single_word(
        &mut self,
        word: Token,
        qualifiers: &Qualifiers<'b>,
    ) -> Result<Tree, QueryError> {
        let grouping = Grouping {
            phrase: word.text(self.query).contains(' '),
            structure: allowed(qualifiers, STRUCTURE, Special::AutoGroup).is_some(),
        };
        self.term(&[word], qualifiers, grouping)
    }

    /// Skips the commas between the words of an and-list.
    pub(super) fn pass_commas(&mut self, qualifiers: &Qualifiers<'b>) {
        let and_list = allowed(qualifiers, STRUCTURE, Special::AndList).is_some();
        while and_list && self.token().kind == Kind::Comma {
            self.advance();
        }
    }

    /// Every way to divide the words into phrases, in order: `a b` is `(a and b) or "a b"`.
    fn split_list(&mut self, qualifiers: &Qualifiers<'b>) -> Result<Tree, QueryError> {
        let mut words = Vec::new();
        while self.token().in_term() {
            words.push(*self.token());
            self.advance();
        }
        // The longest phrase, which bounds the size of the result.
        let longest = match words.len() {
            0 => return Err(self.missing("a term")),
            1..=4 => 3,
            5 | 6 => 2,
            _ => 1,
        };
        // Trees for the words from each index on, the last index first.
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
                let behind = trees.len().checked_sub(length);
                if let Some(behind) = behind {
                    let rest = match longest {
                        1 => trees.pop(),
                        _ => trees.get(behind).cloned(),
                    };
                    if let Some(rest) = rest {
                        self.spend(rest.size)?;
                        split = self.joined(Some((split, Operator::And)), rest)?;
                    }
                }
                tree = Some((self.joined(tree, split)?, Operator::Or));
            }
            trees.extend(tree.map(|(tree, _)| tree));
        }
        trees.pop().ok_or_else(|| self.missing("a term"))
    }

    /// The words as one term, or as one for each Use attribute of the first qualifier.
    fn term(
        &mut self,
        words: &[Token],
        qualifiers: &Qualifiers<'b>,
        grouping: Grouping,
    ) -> Result<Tree, QueryError> {
        let first = qualifiers.first();
        let uses = first
            .into_iter()
            .flat_map(|qualifier| qualifier.attributes())
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
        for attribute in qualifiers.iter().flat_map(|one| one.attributes()) {
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
        let phrase_or_word = allowed(qualifiers, STRUCTURE, Special::PhraseOrWord);
        if !structured && (grouping.structure || phrase_or_word.is_some()) {
            let by = phrase_or_word.filter(|_| !grouping.structure);
            let value = if grouping.phrase { 1 } else { 2 };
            attributes.push(numeric(by, STRUCTURE, value, offset)?);
        }
        let (term, truncation) = self.written(words, qualifiers)?;
        self.truncate(&mut attributes, &truncation, qualifiers, offset)?;
        let size = term.len() + (1 + attributes.len()) * size_of::<AttributeElement>();
        self.spend(size)?;
        let term = Term::General(term.into());
        let operand = AttributesPlusTerm { attributes, term };
        Ok(Tree::operand(Operand::AttributesPlusTerm(operand), size))
    }

    fn truncate(
        &self,
        attributes: &mut Vec<AttributeElement>,
        truncation: &Truncation,
        qualifiers: &Qualifiers<'b>,
        offset: usize,
    ) -> Result<(), QueryError> {
        let (special, value, signs) = match (truncation.left, truncation.right) {
            (Some(_), Some(at)) => (Special::Both, 3, Some((at, "truncation on both sides"))),
            (None, Some(at)) => (Special::Right, 1, Some((at, "truncation on the right"))),
            (Some(at), None) => (Special::Left, 2, Some((at, "truncation on the left"))),
            (None, None) => match truncation.style {
                Style::Regex => (Special::Regex, 102, None),
                Style::Mask => (Special::Mask, 104, None),
                Style::Ends => (Special::NoTruncation, 100, None),
            },
        };
        match (allowed(qualifiers, TRUNCATION, special), signs) {
            (None, None) => {}
            (None, Some((at, name))) => return Err(QueryErrorKind::Truncation(name).at(at)),
            (by, _) => attributes.push(numeric(by, TRUNCATION, value, offset)?),
        }
        Ok(())
    }

    /// The octets of the term.
    fn written(
        &self,
        words: &[Token],
        qualifiers: &Qualifiers<'b>,
    ) -> Result<(Vec<u8>, Truncation), QueryError> {
        let mut truncation = Truncation::default();
        if words.iter().any(|word| self.is_masked(word)) {
            truncation.style = if allowed(qualifiers, TRUNCATION, Special::Regex).is_some() {
                Style::Regex
            } else if allowed(qualifiers, TRUNCATION, Special::Mask).is_some() {
                Style::Mask
            } else {
                Style::Ends
            };
        }
        let mut term = Vec::new();
        for (number, word) in words.iter().enumerate() {
            if !term.is_empty() {
                let blank = self
                    .query
                    .get(word.start.saturating_sub(word.blank)..word.start);
                term.extend_from_slice(blank.unwrap_or_default().as_bytes());
            }
            for piece in self.pieces(word) {
                let first = number == 0 && piece.start == word.start;
                let last = number + 1 == words.len() && piece.end == word.end;
                self.write(piece, &mut term, &mut truncation, first, last)?;
            }
        }
        Ok((term, truncation))
    }

    fn write(
        &self,
        piece: TermPart,
        term: &mut Vec<u8>,
        truncation: &mut Truncation,
        first: bool,
        last: bool,
    ) -> Result<(), QueryError> {
        let refused = |what| QueryErrorKind::Truncation(what).at(piece.start);
        match (piece.sign, truncation.style) {
            (TermSign::Octet(octet, escaped), style) => {
                let a_sign = match style {
                    Style::Ends => false,
                    Style::Regex => REGEX_SIGNS.contains(&octet) || (escaped && octet == b'\\'),
                    Style::Mask => matches!(octet, b'#' | b'?' | b'\\'),
                };
                if a_sign {
                    term.push(b'\\');
                }
                term.push(octet);
            }
            (TermSign::Truncation, Style::Regex) => term.extend_from_slice(b".*"),
            (TermSign::Truncation, Style::Mask) => term.push(b'?'),
            (TermSign::Truncation, Style::Ends) if first => truncation.left = Some(piece.start),
            (TermSign::Truncation, Style::Ends) if last => truncation.right = Some(piece.start),
            (TermSign::Truncation, Style::Ends) => return Err(refused("truncation inside a term")),
            (TermSign::Mask, Style::Regex) => term.push(b'.'),
            (TermSign::Mask, Style::Mask) => term.push(b'#'),
            (TermSign::Mask, Style::Ends) => return Err(refused("a mask")),
        }
        Ok(())
    }

    fn is_masked(&self, word: &Token) -> bool {
        self.pieces(word)
            .any(|piece| !matches!(piece.sign, TermSign::Octet(..)))
    }

    /// The octets of a word that is not a term: signs of truncation have no meaning.
    pub(super) fn octets(&self, word: &Token) -> impl Iterator<Item = u8> {
        let signs = TermParts {
            truncation: &[],
            mask: &[],
            ..self.pieces(word)
        };
        signs.filter_map(|piece| match piece.sign {
            TermSign::Octet(octet, _) => Some(octet),
            TermSign::Truncation | TermSign::Mask => None,
        })
    }

    /// The octets and signs of a word, without its quotes and backslashes.
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

/// An attribute in the set of the one that allows it.
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
    match &attribute.set {
        None => Ok(None),
        Some(set) if set.oid.is_some() => Ok(set.oid),
        Some(unknown) => Err(QueryErrorKind::AttributeSet(unknown.name.clone()).at(offset)),
    }
}

#[derive(Clone, Copy)]
enum TermSign {
    /// An octet of the term, and whether a backslash stood before it.
    Octet(u8, bool),
    Truncation,
    Mask,
}

#[derive(Clone, Copy)]
struct TermPart {
    sign: TermSign,
    start: usize,
    end: usize,
}

struct TermParts<'a> {
    word: &'a [u8],
    offset: usize,
    quoted: bool,
    truncation: &'a [String],
    mask: &'a [String],
}

impl Iterator for TermParts<'_> {
    type Item = TermPart;

    fn next(&mut self) -> Option<TermPart> {
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
            return Some(TermPart {
                sign,
                start,
                end: self.offset,
            });
        }
    }
}

impl TermParts<'_> {
    /// A sign of truncation or a mask, and its length.
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
