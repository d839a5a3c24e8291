//! Finds phrases, which are adjacent words anywhere in an entry or at its edges, and the positions of words.

use super::dictionary::Dictionary;
use super::find::{FIND_UNITS, Matches, Pattern, matches};
use super::postings::{Class, List, at, place, record};
use super::segment::Segment;
use super::{BOUNDARY, Exhausted, Index, Terms, WorkBudget};
use crate::memory::fields::{IndexId, SUBFIELD_MARK};
use crate::memory::hits::RecordNumber;
use crate::memory::hits::{HitSet, Part, Union, common, join};

/// The condition on what precedes or follows a phrase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edge {
    /// No condition.
    #[default]
    Any,
    /// There must be an edge of a subfield or of the field.
    Subfield,
    /// There must be an edge of the field.
    Field,
}

/// The conditions at both ends of a phrase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edges {
    /// The condition at the first word.
    pub first: Edge,
    /// The condition at the last word.
    pub last: Edge,
}

impl Index {
    /// Returns the records with an entry of the index in which adjacent words match the patterns.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(in crate::memory) fn phrase(
        &self,
        index: IndexId,
        words: &[Pattern],
        edges: Edges,
        work: &mut WorkBudget,
    ) -> Result<HitSet<'_>, Exhausted> {
        if let [only] = words
            && edges == Edges::default()
        {
            return self.find(Terms::Words(index), only, work);
        }
        self.parts(|segment| records_in(segment, index, words, edges, work))
    }

    /// Returns the positions of the first words of a phrase in the given records; `None` means all records.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(in crate::memory) fn phrase_places(
        &self,
        index: IndexId,
        words: &[Pattern],
        edges: Edges,
        within: Option<&HitSet<'_>>,
        work: &mut WorkBudget,
    ) -> Result<WordPlaces, Exhausted> {
        let mut places = WordPlaces::default();
        for (number, segment, _) in self.segments() {
            let within = match within.map(|within| within.part(number)) {
                None => None,
                Some(None) => continue,
                Some(part) => part,
            };
            let steps = (steps(segment, index, words, work)?, words.len());
            let found = places_in(segment, index, steps, edges, within, work)?;
            work.spend(found.len() / PLACES_A_UNIT)?;
            places.extend(number, &found);
        }
        Ok(places)
    }

    /// Returns the boundaries of texts in the given records: the positions before the first text, between texts, and after the
    /// last text.
    ///
    /// # Errors
    /// The work budget is exhausted.
    pub(in crate::memory) fn boundaries(
        &self,
        within: &HitSet<'_>,
        work: &mut WorkBudget,
    ) -> Result<WordPlaces, Exhausted> {
        let mut places = WordPlaces::default();
        for (number, segment, _) in self.segments() {
            if let Some(within) = within.part(number) {
                let dictionary = segment.dictionary(Terms::Words(IndexId::ANY));
                let found = boundaries(&dictionary, within, 0, work)?;
                work.spend(found.len() / PLACES_A_UNIT)?;
                places.extend(number, &found);
            }
        }
        Ok(places)
    }
}

/// A word of a phrase: its lists, and its offset from the beginning of the phrase, in words.
struct PhraseWord<'a> {
    /// The lists of the word, in ascending order of classes.
    lists: Vec<List<'a>>,
    behind: u16,
}

/// The lists of a word in one class of texts.
struct InClass<'s, 'a> {
    lists: &'s [List<'a>],
    records: usize,
    behind: u16,
}

/// Returns the records of a segment that contain the phrase.
fn records_in<'a>(
    segment: &'a Segment,
    index: IndexId,
    words: &[Pattern],
    edges: Edges,
    work: &mut WorkBudget,
) -> Result<Part<'a>, Exhausted> {
    let steps = steps(segment, index, words, work)?;
    if edges == Edges::default()
        && let [only] = steps.as_slice()
    {
        return part(&only.lists, work);
    }
    let starts = places_in(segment, index, (steps, words.len()), edges, None, work)?;
    let mut records: Vec<_> = starts.into_iter().map(record).collect();
    records.dedup();
    Ok(Part::of_vec(records))
}

/// Returns the words of the phrase with their lists; empty if the phrase cannot occur. Two words that are indexed as a pair are
/// treated as one word.
fn steps<'a>(
    segment: &'a Segment,
    index: IndexId,
    words: &[Pattern],
    work: &mut WorkBudget,
) -> Result<Vec<PhraseWord<'a>>, Exhausted> {
    let single = segment.dictionary(Terms::Words(index));
    let pairs = segment.pairs(index);
    let frequent = |place: usize| match words.get(place) {
        Some(Pattern::Exact(word)) if segment.is_frequent(word) => Some(word),
        _ => None,
    };
    let mut steps = Vec::with_capacity(words.len());
    let mut before = None;
    for (place, word) in words.iter().enumerate() {
        work.spend(FIND_UNITS)?;
        let (this, next) = (frequent(place), frequent(place + 1));
        let lists = match (before, this, next) {
            (_, Some(one), Some(other)) => {
                let pair = Pattern::Exact(format!("{one} {other}"));
                lists_of(&pairs, &pair, work)?
            }
            // The previous step has already found this word as the second word of a pair.
            (Some(_), Some(_), None) => continue,
            _ => lists_of(&single, word, work)?,
        };
        if lists.is_empty() {
            return Ok(Vec::new());
        }
        steps.push(PhraseWord {
            lists,
            behind: u16::try_from(place).unwrap_or(u16::MAX),
        });
        before = this;
    }
    Ok(steps)
}

/// Returns the positions of the phrase in a segment, as packed positions of its first word.
fn places_in(
    segment: &Segment,
    index: IndexId,
    (steps, words): (Vec<PhraseWord<'_>>, usize),
    edges: Edges,
    within: Option<&Part<'_>>,
    work: &mut WorkBudget,
) -> Result<Vec<u32>, Exhausted> {
    let mut starts: Vec<u32> = Vec::new();
    let of_first = steps.first().map_or(&[][..], |step| &step.lists);
    // A phrase is within one text, and therefore within one class.
    for lists in of_first.chunk_by(|left, right| left.class == right.class) {
        let class = lists.first().map_or(0, |list| list.class);
        if let Some(steps) = steps.iter().map(|step| step.of(class)).collect() {
            starts.extend(in_class(steps, within, work)?);
        }
    }
    // The list has an ascending run for each class, and the standard sort merges these runs.
    work.spend(starts.len() / SORTED_A_UNIT)?;
    starts.sort();
    let dictionary = segment.dictionary(Terms::Words(index));
    let length = u16::try_from(words).unwrap_or(u16::MAX);
    if edges.first != Edge::Any {
        at_edge(&mut starts, &dictionary, edges.first, 0, work)?;
    }
    if edges.last != Edge::Any {
        at_edge(&mut starts, &dictionary, edges.last, length, work)?;
    }
    Ok(starts)
}

/// Returns the lists of all words that match the pattern, in ascending order of classes.
fn lists_of<'a>(
    dictionary: &Dictionary<'a>,
    word: &Pattern,
    work: &mut WorkBudget,
) -> Result<Vec<List<'a>>, Exhausted> {
    let terms = matches(dictionary, word, work)?;
    let mut lists = Vec::new();
    let mut add = |term| {
        let before = lists.len();
        lists.extend(dictionary.lists(term));
        work.spend(1 + lists.len() - before)
    };
    match terms {
        Matches::Range(range) => dictionary.terms(range).try_for_each(&mut add)?,
        Matches::List(list) => list.into_iter().try_for_each(&mut add)?,
    }
    lists.sort_by_key(|list| list.class);
    Ok(lists)
}

impl<'a> PhraseWord<'a> {
    /// Returns the lists of one class; `None` if there are none.
    fn of(&self, class: Class) -> Option<InClass<'_, 'a>> {
        let start = self.lists.partition_point(|list| list.class < class);
        let end = self.lists.partition_point(|list| list.class <= class);
        let lists = self.lists.get(start..end)?;
        (!lists.is_empty()).then(|| InClass {
            lists,
            records: lists.iter().map(List::count).sum(),
            behind: self.behind,
        })
    }
}

/// Returns the records of several lists.
fn part<'a>(lists: &[List<'a>], work: &mut WorkBudget) -> Result<Part<'a>, Exhausted> {
    for list in lists {
        work.spend(1 + list.units())?;
    }
    if let [only] = lists {
        return Ok(only.part());
    }
    let mut union = Union::default();
    lists.iter().for_each(|list| list.add_to(&mut union));
    Ok(union.into_part())
}

/// Returns the positions of the phrase in the texts of one class.
fn in_class(
    mut steps: Vec<InClass<'_, '_>>,
    within: Option<&Part<'_>>,
    work: &mut WorkBudget,
) -> Result<Vec<u32>, Exhausted> {
    // The rarest word is examined first, because it leaves the fewest records and positions to check.
    steps.sort_by_key(|step| step.records);
    let mut candidates: Option<Part<'_>> = None;
    for step in &steps {
        let part = part(step.lists, work)?;
        work.spend(part.units())?;
        let left = match candidates {
            None => part,
            Some(candidates) => candidates.and(&part),
        };
        if left.is_empty() {
            return Ok(Vec::new());
        }
        candidates = Some(left);
    }
    let mut candidates = candidates.unwrap_or_else(|| Part::first(0));
    if let Some(within) = within {
        candidates = candidates.and(within);
    }
    let mut starts: Option<Vec<u32>> = None;
    for step in &steps {
        let lists = step.lists.iter().copied();
        let places = places_of(lists, &candidates, step.behind, work)?;
        starts = Some(match starts {
            None => places,
            Some(starts) => {
                work.spend((starts.len() + places.len()) / PLACES_A_UNIT)?;
                common(&starts, &places)
            }
        });
    }
    Ok(starts.unwrap_or_default())
}

/// Returns the positions in several lists, restricted to the given records, in ascending order; `before` is subtracted from each
/// position.
fn places_of<'a>(
    lists: impl Iterator<Item = List<'a>>,
    records: &Part<'_>,
    before: u16,
    work: &mut WorkBudget,
) -> Result<Vec<u32>, Exhausted> {
    let mut found = Vec::new();
    let mut is_sorted = true;
    for list in lists {
        work.spend(list.units() + list.place_units(records))?;
        is_sorted &= found.is_empty();
        found.reserve(list.count().min(records.len()));
        list.each_place_in(records, |record, place| {
            if let Some(start) = place.checked_sub(before) {
                found.push(at(record, start));
            }
        });
    }
    if !is_sorted {
        work.spend(found.len() / SORTED_A_UNIT)?;
        found.sort();
    }
    Ok(found)
}

/// The number of positions that are compared or copied per unit of work.
const PLACES_A_UNIT: usize = 16;
/// The number of positions that are sorted per unit of work.
const SORTED_A_UNIT: usize = 4;

/// Returns the positions of text boundaries in some records, each reduced by `before`, in ascending order.
///
/// # Errors
/// The work budget is exhausted.
fn boundaries(
    dictionary: &Dictionary<'_>,
    records: &Part<'_>,
    before: u16,
    work: &mut WorkBudget,
) -> Result<Vec<u32>, Exhausted> {
    let boundary = dictionary.strings().find(BOUNDARY.as_bytes());
    let lists = boundary
        .into_iter()
        .flat_map(|term| dictionary.lists_of_any(term));
    places_of(lists, records, before, work)
}

/// Keeps only those starts of phrases that have an edge `behind` words later; 0 means an edge before the phrase.
fn at_edge(
    starts: &mut Vec<u32>,
    dictionary: &Dictionary<'_>,
    edge: Edge,
    behind: u16,
    work: &mut WorkBudget,
) -> Result<(), Exhausted> {
    work.spend(starts.len() / PLACES_A_UNIT)?;
    let mut records: Vec<_> = starts.iter().map(|start| record(*start)).collect();
    records.dedup();
    let records = Part::of_vec(records);
    // A boundary is at the position before the first word of its text, or after the last word of the previous text. The mark of a
    // subfield has the position of the subfield's first word.
    let mut edges = match behind {
        0 => {
            let boundary = Pattern::Exact(BOUNDARY.to_owned());
            let own = lists_of(dictionary, &boundary, work)?;
            let mut places = places_of(own.into_iter(), &records, 0, work)?;
            places.iter_mut().for_each(|at| *at = at.saturating_add(1));
            places
        }
        _ => boundaries(dictionary, &records, behind, work)?,
    };
    if edge == Edge::Subfield {
        let mark = Pattern::Exact(SUBFIELD_MARK.to_string());
        let marks = lists_of(dictionary, &mark, work)?;
        edges.extend(places_of(marks.into_iter(), &records, behind, work)?);
        edges.sort();
    }
    work.spend((starts.len() + edges.len()) / PLACES_A_UNIT)?;
    *starts = common(starts, &edges);
    Ok(())
}

/// The position of a word.
///
/// Words are numbered from 1 through all texts from a record. If different parts of a field are in different indexes, each part
/// is a separate text. Positions are consecutive within a text and can only be compared within a text. One position is skipped
/// between two texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::memory) struct WordPlace {
    pub(in crate::memory) record: RecordNumber,
    /// The number of the word in the record.
    pub(in crate::memory) position: u32,
}

/// Positions of words in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::memory) struct WordPlaces(Vec<WordPlace>);

impl WordPlaces {
    pub(in crate::memory) fn iter(&self) -> impl Iterator<Item = WordPlace> {
        self.0.iter().copied()
    }

    /// Returns the positions grouped by record.
    pub(in crate::memory) fn by_record(
        &self,
    ) -> impl Iterator<Item = (RecordNumber, &[WordPlace])> {
        let records = self.0.chunk_by(|left, right| left.record == right.record);
        records.filter_map(|places| Some((places.first()?.record, places)))
    }

    /// Adds the packed positions of words in a segment. Segments must be added in ascending order.
    pub(super) fn extend(&mut self, segment: u16, places: &[u32]) {
        let places = places.iter().map(|at| WordPlace {
            record: join(segment, record(*at)),
            position: place(*at).into(),
        });
        self.0.extend(places);
    }
}
