//! The access points arranged by tag: which subfields of each field feed which indexes.

use z3950_marc::Tag;

use super::source::{Codes, Condition, LEADER, Source};
use super::{AccessPoint, AccessPoints, IndexId, IndexSet, Sources};

/// The first and the last position, counted from 0.
pub(super) type Positions = (usize, usize);

/// The rules that say which parts of a record in a MARC format feed which indexes.
#[derive(Clone, Debug, Default)]
pub(super) struct Format {
    pub(super) leader: Vec<(Positions, IndexSet)>,
    /// The rules, indexed by the tag as a number; a tag beyond the end has no rules.
    fields: Vec<Option<Box<FieldRules>>>,
}

/// The rules for the fields with a particular tag.
#[derive(Clone, Debug)]
pub(super) struct FieldRules {
    /// The indexes that each subfield feeds unconditionally. The position in the array is the slot of the subfield's code.
    pub(super) codes: [IndexSet; SLOTS],
    /// The rules with conditions or positions.
    pub(super) others: Vec<Rule>,
}

/// A rule with a condition or positions.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) condition: Option<Condition>,
    pub(super) slots: Slots,
    pub(super) positions: Option<Positions>,
    pub(super) indexes: IndexSet,
}

impl FieldRules {
    /// Returns whether any of the rules feeds the index.
    pub(super) fn feed(&self, index: IndexId) -> bool {
        let mut others = self.others.iter();
        self.codes.iter().any(|indexes| indexes.contains(index))
            || others.any(|rule| rule.indexes.contains(index))
    }
}

/// The number of slots. A slot is a small number that stands for a subfield code: each letter and each digit has a slot,
/// and all other codes share one.
pub(super) const SLOTS: usize = 37;

/// The slot of the digit 0, after the slots of letters.
pub(super) const FIRST_DIGIT: usize = 26;

/// The value that stands for a missing subfield code.
pub(super) const NO_CODE: u8 = 0;

/// Returns the slot of a code.
pub(super) fn slot(code: u8) -> usize {
    match code {
        b'a'..=b'z' => usize::from(code - b'a'),
        b'0'..=b'9' => usize::from(code - b'0') + FIRST_DIGIT,
        _ => SLOTS - 1,
    }
}

/// A set of slots, as a bit set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots(u64);

impl Slots {
    pub(super) fn insert(&mut self, slot: usize) {
        self.0 |= 1 << slot.min(SLOTS - 1);
    }

    pub(super) fn contains(self, slot: usize) -> bool {
        self.0 & 1 << slot.min(SLOTS - 1) != 0
    }
}

impl From<&Codes> for Slots {
    fn from(codes: &Codes) -> Self {
        let taken = |code: &u8| match codes {
            Codes::All => !code.is_ascii_digit(),
            Codes::Only(codes) => codes.contains(code),
            Codes::Except(codes) => !code.is_ascii_digit() && !codes.contains(code),
        };
        let mut slots = Self::default();
        let every = (b'a'..=b'z').chain(b'0'..=b'9').chain([NO_CODE]);
        every
            .filter(taken)
            .for_each(|code| slots.insert(slot(code)));
        slots
    }
}

impl Format {
    /// Creates the rules of a format; `fields` returns the sources of an access point in this format.
    pub(super) fn new(points: &AccessPoints, fields: impl Fn(&AccessPoint) -> &Sources) -> Self {
        let mut format = Self::default();
        for (index, row) in points.iter() {
            let sources = fields(row).0.iter();
            sources.for_each(|source| format.add(source, index));
        }
        format
    }

    /// Returns the rules for the fields with this tag; `None` if there are none.
    pub(super) fn rules(&self, tag: Tag) -> Option<&FieldRules> {
        let digits = tag.0.iter();
        let number = digits.copied().try_fold(0, |sum, digit| {
            digit
                .is_ascii_digit()
                .then(|| sum * 10 + usize::from(digit - b'0'))
        })?;
        self.fields.get(number)?.as_deref()
    }

    fn add(&mut self, source: &Source, index: IndexId) {
        let indexes = IndexSet::of(index);
        if source.tag == LEADER {
            self.leader
                .extend(source.positions.map(|positions| (positions, indexes)));
            return;
        }
        let slots = Slots::from(&source.codes);
        for tag in tags(source.tag) {
            if self.fields.len() <= tag {
                self.fields.resize(tag + 1, None);
            }
            let Some(place) = self.fields.get_mut(tag) else {
                continue;
            };
            let rules = place.get_or_insert_with(|| {
                Box::new(FieldRules {
                    codes: [IndexSet::default(); SLOTS],
                    others: Vec::new(),
                })
            });
            if source.condition.is_some() || source.positions.is_some() {
                rules.others.push(Rule {
                    condition: source.condition.clone(),
                    slots,
                    positions: source.positions,
                    indexes,
                });
                continue;
            }
            for (slot, known) in rules.codes.iter_mut().enumerate() {
                if slots.contains(slot) {
                    *known = known.union(indexes);
                }
            }
        }
    }
}

/// Returns, as numbers, the tags that match a pattern in which `X` represents any digit.
fn tags(pattern: [u8; 3]) -> Vec<usize> {
    pattern.iter().fold(vec![0], |tags, digit| {
        let digits = match digit {
            b'X' => 0..10,
            digit => {
                let digit = usize::from(digit.saturating_sub(b'0'));
                digit..digit + 1
            }
        };
        tags.iter()
            .flat_map(|tag| digits.clone().map(move |digit| tag * 10 + digit))
            .collect()
    })
}
