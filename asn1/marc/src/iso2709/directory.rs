//! Reads the directory of an ISO 2709 record and the fields that it names (ISO 2709 §4.4). A valid directory is
//! followed in one pass; the entries of a damaged one are matched with the fields between the terminators.

use std::ops::Range;

use bytes::Bytes;

use super::repair::{Repair, RepairKind};
use crate::record::{FIELD_TERMINATOR, Field, Leader, RECORD_TERMINATOR, Tag, number, position};

/// Returns the fields of `content` (the record without its terminator) if the leader and the directory are correct.
/// This is the case if the entries, in order, cover all octets after the stated base address, and each entry names one
/// terminated field.
pub(super) fn sound_fields(content: &Bytes, leader: &Leader) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    walk(content, leader, |count, tag, place| {
        if fields.is_empty() {
            fields.reserve_exact(count);
        }
        fields.push(Field {
            tag,
            body: content.slice(place),
        });
    })?;
    Some(fields)
}

/// Returns the fields of `content` if its directory is valid except for entries of more than 12 octets: programs that do
/// not check the lengths write five digits for a field of more than 9,999 octets, and six for the start of a field after
/// 99,999.
///
/// Each entry has to begin where the previous one ends and to name one terminated field, and the entries together have to cover
/// all octets after the directory.
pub(super) fn long_entries(content: &Bytes) -> Option<Vec<Field>> {
    let behind = content.get(Leader::LENGTH..)?;
    let mut rest = behind.get(..position(behind, FIELD_TERMINATOR)?)?;
    let base = Leader::LENGTH + rest.len() + 1;
    let area = content.get(base..)?;
    let mut fields = Vec::new();
    let (mut next, mut is_long) = (0, false);
    while !rest.is_empty() {
        let (map, entry) = LONG_MAPS.into_iter().find_map(|map| {
            let entry = map.read(rest.get(..map.entry())?, 0, 0)?;
            let stated = entry.stated.as_ref()?;
            let last = stated.end.checked_sub(1)?;
            let fits = stated.start == next && last >= next;
            (fits && area.get(last) == Some(&FIELD_TERMINATOR)).then_some((map, entry))
        })?;
        let stated = entry.stated?;
        let body = content.slice(base + next..base + stated.end - 1);
        fields.push(Field {
            tag: entry.tag,
            body,
        });
        is_long |= map != EntryMap::USUAL;
        next = stated.end;
        rest = rest.get(map.entry()..)?;
    }
    let is_whole = next == area.len() && terminators(area) == fields.len();
    (is_long && is_whole).then_some(fields)
}

/// The usual entry map, and the maps that result if lengths or starts are written with more digits than usual.
const LONG_MAPS: [EntryMap; 6] = [
    EntryMap::USUAL,
    EntryMap::of_digits(5, 5),
    EntryMap::of_digits(4, 6),
    EntryMap::of_digits(5, 6),
    EntryMap::of_digits(6, 5),
    EntryMap::of_digits(6, 6),
];

/// Returns whether [`sound_fields`] would return the fields.
pub(super) fn is_sound(content: &[u8], leader: &Leader) -> bool {
    walk(content, leader, |_, _, _| {}).is_some()
}

/// Follows a valid directory: calls `field` with the number of entries, and the tag and range of each field. Returns `None` if the
/// directory is not valid; `field` may then already have been called for some fields.
fn walk(
    content: &[u8],
    leader: &Leader,
    mut field: impl FnMut(usize, Tag, Range<usize>),
) -> Option<()> {
    let map = EntryMap::stated(leader)?;
    let base = leader.base_address()?;
    let (&FIELD_TERMINATOR, region) = content.get(Leader::LENGTH..base)?.split_last()? else {
        return None;
    };
    let entries = region.chunks_exact(map.entry());
    let count = entries.len();
    if region.contains(&FIELD_TERMINATOR)
        || !entries.remainder().is_empty()
        || terminators(content.get(base..)?) != count
    {
        return None;
    }
    let mut next = base;
    for octets in entries {
        let entry = map.read(octets, base, 0)?;
        let stated = entry.stated.filter(|stated| stated.start == next)?;
        let last = stated.end.checked_sub(1).filter(|last| *last >= next)?;
        if content.get(last) != Some(&FIELD_TERMINATOR) {
            return None;
        }
        field(count, entry.tag, next..last);
        next = stated.end;
    }
    (next == content.len()).then_some(())
}

/// Returns whether octets that begin with this leader are plausibly a record: the directory ends at the base address,
/// its entries are numbers, and the numbers are consistent with each other or with the record length.
pub(super) fn is_believable(octets: &[u8], leader: &Leader) -> bool {
    let (Some(length), Some(base)) = (leader.record_length(), leader.base_address()) else {
        return false;
    };
    let map = EntryMap::stated(leader).unwrap_or(EntryMap::USUAL);
    let listed = octets
        .get(Leader::LENGTH..base)
        .and_then(<[u8]>::split_last);
    let Some((&FIELD_TERMINATOR, region)) = listed else {
        return false;
    };
    let Some(area) = length.checked_sub(base + 1).filter(|_| map.reads(region)) else {
        return false;
    };
    map.explains(region, area)
        || is_terminated(octets, length)
        || (!region.is_empty() && map.is_gapless(region))
}

/// Returns whether the first `length` octets end with a record terminator.
pub(super) fn is_terminated(octets: &[u8], length: usize) -> bool {
    let last = length.checked_sub(1).and_then(|last| octets.get(last));
    last == Some(&RECORD_TERMINATOR)
}

/// Counts the field terminators.
fn terminators(octets: &[u8]) -> usize {
    // Each chunk is short enough for the number of its terminators to fit into an octet, so that the loop is vectorised.
    let counts = octets.chunks(usize::from(u8::MAX)).map(|octets| {
        let found = octets
            .iter()
            .map(|octet| u8::from(*octet == FIELD_TERMINATOR));
        usize::from(found.sum::<u8>())
    });
    counts.sum()
}

/// The entries of a damaged record, and the offset of its first field.
pub(super) struct Directory {
    entries: Vec<DirectoryEntry>,
    base: usize,
}

impl Directory {
    /// Finds the entries and the first field in `content` (the record without its terminator). Returns `None` if no 0x1E
    /// follows the leader.
    ///
    /// The first 0x1E ends the directory if the octets before it can be read as entries. Otherwise, either entries are
    /// damaged or this 0x1E belongs to a field, and the stated base address and the entries decide between these cases.
    pub(super) fn read(content: &[u8], leader: &Leader, repairs: &mut Vec<Repair>) -> Option<Self> {
        let behind = content.get(Leader::LENGTH..)?;
        let region = behind.get(..position(behind, FIELD_TERMINATOR)?)?;
        let area = behind.len().saturating_sub(region.len() + 1);
        let map = EntryMap::choose(leader, region, area, repairs);
        let stated = leader.base_address();
        let (listed, base) = extent(region, map, stated, repairs);

        if stated != Some(base) {
            let actual = base;
            repairs.push(RepairKind::BaseAddress { stated, actual }.at(12));
        }
        let entries = listed.chunks_exact(map.entry());
        let count = entries.remainder().len();
        if count > 0 {
            let offset = Leader::LENGTH + listed.len() - count;
            repairs.push(RepairKind::DirectoryRemainder { count }.at(offset));
        }
        let entries = entries
            .enumerate()
            .filter_map(|(index, octets)| {
                map.read(octets, base, Leader::LENGTH + index * map.entry())
            })
            .collect();
        Some(Directory { entries, base })
    }

    /// Returns the fields in directory order, sharing the octets of `content`.
    pub(super) fn fields(mut self, content: &Bytes, repairs: &mut Vec<Repair>) -> Vec<Field> {
        self.recover(content, repairs);
        let field = |entry: &DirectoryEntry| Field {
            tag: entry.tag,
            body: content.slice(entry.place.clone()),
        };
        let found = self.entries.iter().filter(|entry| entry.found);
        found.map(field).collect()
    }

    /// Matches entries with the fields between terminators in three steps. Entries that name one field exactly are
    /// matched first, and then consecutive entries that share a stretch because the terminators within it are missing.
    /// The remaining entries get the remaining fields in order.
    fn recover(&mut self, content: &[u8], repairs: &mut Vec<Repair>) {
        let mut stretches = Stretch::all(content, self.base);
        for entry in &mut self.entries {
            entry.found = false;
            if let Some(stated) = &entry.stated
                && let Some(stretch) = Stretch::starting(&mut stretches, stated.start)
                && stretch.ends_with(stated)
            {
                stretch.used = true;
                entry.settle(stated.clone());
            }
        }
        self.carve(&mut stretches, repairs);
        self.assign(stretches, repairs);
    }

    /// Divides each stretch that several consecutive entries together name exactly. The terminators within such a
    /// stretch were overwritten.
    fn carve(&mut self, stretches: &mut [Stretch], repairs: &mut Vec<Repair>) {
        let mut rest = self.entries.as_mut_slice();
        while let Some(first) = rest.first() {
            let mut length = 1;
            if let Some(stated) = first.stated.as_ref().filter(|_| !first.found)
                && let Some(stretch) = Stretch::starting(stretches, stated.start)
                && let Some(run) = run_through(rest, stretch)
            {
                length = run;
                stretch.used = true;
                for (index, entry) in rest.iter_mut().take(run).enumerate() {
                    let Some(stated) = entry.stated.clone() else {
                        continue;
                    };
                    if index + 1 < run {
                        let tag = entry.tag;
                        let kind = RepairKind::FieldTerminatorMissing { tag };
                        repairs.push(kind.at(stated.end.saturating_sub(1)));
                    }
                    entry.settle(stated);
                }
            }
            rest = rest
                .split_at_mut_checked(length)
                .map_or(&mut [], |(_, after)| after);
        }
    }

    /// Gives the remaining stretches to the remaining entries, in order. If there are too many entries, empty entries
    /// are dropped first; if there are too many stretches, empty stretches are dropped first.
    fn assign(&mut self, stretches: Vec<Stretch>, repairs: &mut Vec<Repair>) {
        let mut free: Vec<_> = stretches
            .into_iter()
            .filter(|stretch| !stretch.used)
            .collect();
        let mut waiting: Vec<_> = self
            .entries
            .iter_mut()
            .filter(|entry| !entry.found)
            .collect();
        if waiting.len() > free.len() {
            let empty = |entry: &DirectoryEntry| entry.stated.as_ref().is_some_and(Range::is_empty);
            let dropped = waiting.extract_if(.., |entry| empty(entry));
            repairs.extend(dropped.map(|entry| entry.missing()));
        } else if free.len() > waiting.len() {
            free.retain(|stretch| !stretch.place.is_empty());
        }
        let mut free = free.into_iter();
        for entry in waiting {
            let tag = entry.tag;
            let Some(stretch) = free.next() else {
                repairs.push(entry.missing());
                continue;
            };
            repairs.push(RepairKind::DirectoryEntry { tag }.at(entry.offset));
            if !stretch.terminated {
                let end = stretch.place.end;
                repairs.push(RepairKind::FieldTerminatorMissing { tag }.at(end));
            }
            entry.found = true;
            entry.place = stretch.place;
        }
        repairs.extend(free.map(|stretch| {
            let octets = stretch.place.len();
            RepairKind::FieldUnlisted { octets }.at(stretch.place.start)
        }));
    }
}

/// The number of digits of each part of a directory entry (leader 20–22; ISO 2709 §4.3.9).
#[derive(Clone, Copy, PartialEq, Eq)]
struct EntryMap {
    length_digits: usize,
    start_digits: usize,
    implementation: usize,
}

impl EntryMap {
    const USUAL: EntryMap = EntryMap::of_digits(4, 5);

    const fn of_digits(length_digits: usize, start_digits: usize) -> Self {
        EntryMap {
            length_digits,
            start_digits,
            implementation: 0,
        }
    }

    /// Returns the map stated in the leader, if it gives at least one digit each to lengths and starts.
    fn stated(leader: &Leader) -> Option<Self> {
        let digit = |position| number(&[leader.octet(position)]);
        Some(EntryMap {
            length_digits: digit(20).filter(|digits| *digits > 0)?,
            start_digits: digit(21).filter(|digits| *digits > 0)?,
            implementation: digit(22).unwrap_or(0),
        })
    }

    /// Returns the stated map. If the stated map is not plausible, or if only the usual map explains the `area` octets
    /// of the fields, adds a repair and returns the usual map.
    fn choose(leader: &Leader, region: &[u8], area: usize, repairs: &mut Vec<Repair>) -> Self {
        let usual = EntryMap::USUAL;
        EntryMap::stated(leader)
            .filter(|stated| stated.explains(region, area) || !usual.explains(region, area))
            .unwrap_or_else(|| {
                repairs.push(RepairKind::LeaderDigit { position: 20 }.at(20));
                usual
            })
    }

    /// Returns the length of one entry in octets. It is at least 3, the length of the tag.
    fn entry(self) -> usize {
        TAG_LENGTH + self.length_digits + self.start_digits + self.implementation
    }

    /// Returns whether the octets consist of complete entries only.
    fn reads(self, octets: &[u8]) -> bool {
        let entries = octets.chunks_exact(self.entry());
        entries.remainder().is_empty() && entries.into_iter().all(|entry| self.reads_entry(entry))
    }

    /// Returns whether the octets consist of complete entries whose lengths add up to `area`.
    fn explains(self, octets: &[u8], area: usize) -> bool {
        let lengths = octets.chunks_exact(self.entry()).map(|entry| {
            let digits = entry.get(TAG_LENGTH..TAG_LENGTH + self.length_digits);
            digits.and_then(number).unwrap_or(0)
        });
        self.reads(octets) && lengths.fold(0, usize::saturating_add) == area
    }

    /// Returns whether the first entry begins at 0 and each other entry begins where the previous one ends.
    fn is_gapless(self, octets: &[u8]) -> bool {
        let mut next = 0;
        octets.chunks_exact(self.entry()).all(|octets| {
            let stated = self.read(octets, 0, 0).and_then(|entry| entry.stated);
            stated.is_some_and(|stated| std::mem::replace(&mut next, stated.end) == stated.start)
        })
    }

    fn reads_entry(self, entry: &[u8]) -> bool {
        let digits = TAG_LENGTH..self.entry() - self.implementation;
        entry
            .get(digits)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    }

    /// Returns whether an entry names the first field, which begins `gap` octets after the entries and ends at `end`
    /// (terminator included).
    fn first_field_fits(self, listed: &[u8], gap: usize, end: usize) -> bool {
        let base = Leader::LENGTH + listed.len() + gap;
        let mut entries = listed.chunks_exact(self.entry());
        entries.any(|octets| {
            let entry = self.read(octets, base, 0);
            entry.is_some_and(|entry| entry.stated == Some(base..end))
        })
    }

    /// Reads one entry, which begins at `offset` in the record. If its numbers are malformed, the entry has no stated
    /// range.
    fn read(self, octets: &[u8], base: usize, offset: usize) -> Option<DirectoryEntry> {
        let (tag, numbers) = octets.split_first_chunk()?;
        let (length, numbers) = numbers.split_at_checked(self.length_digits)?;
        let start = numbers.get(..self.start_digits)?;
        let stated = number(length).zip(number(start)).map(|(length, start)| {
            let start = base.saturating_add(start);
            start..start.saturating_add(length)
        });
        Some(DirectoryEntry {
            tag: Tag(*tag),
            offset,
            stated,
            found: false,
            place: 0..0,
        })
    }
}

const TAG_LENGTH: usize = 3;

/// Returns the octets of the entries, and the offset of the first field. `region` is the part of the record between the
/// leader and the first 0x1E.
fn extent<'a>(
    region: &'a [u8],
    map: EntryMap,
    stated: Option<usize>,
    repairs: &mut Vec<Repair>,
) -> (&'a [u8], usize) {
    let whole = (region, Leader::LENGTH + region.len() + 1);
    if map.reads(region) {
        return whole;
    }
    // Without a terminator, the directory has as many entries as fit before the stated base address, or as many as can
    // be read.
    let room = stated.and_then(|base| base.checked_sub(Leader::LENGTH + 1));
    let announced = room
        .and_then(|room| region.get(..room))
        .filter(|listed| listed.len() < region.len() && map.reads(listed));
    let mut entries = region.chunks_exact(map.entry());
    let readable = entries
        .by_ref()
        .take_while(|entry| map.reads_entry(entry))
        .count();
    let more = entries.any(|entry| map.reads_entry(entry));
    let (listed, after) = region
        .split_at_checked(readable * map.entry())
        .unwrap_or((region, &[]));

    let mut without_terminator = |listed: &'a [u8], gap: usize| {
        let offset = Leader::LENGTH + listed.len();
        repairs.push(RepairKind::DirectoryTerminatorMissing.at(offset));
        (listed, offset + gap)
    };
    // If the first field ends where its entry says, the terminator of the directory was overwritten by another octet (gap 1) or is missing
    // (gap 0).
    for listed in announced.into_iter().chain([listed]) {
        for gap in [1, 0] {
            if map.first_field_fits(listed, gap, whole.1) {
                return without_terminator(listed, gap);
            }
        }
    }
    match announced {
        Some(listed) => without_terminator(listed, 1),
        // The entries rather than the terminator are damaged if readable entries follow, fewer octets than an entry remain, or the base
        // address is correct.
        None if more || after.len() < map.entry() || stated == Some(whole.1) => whole,
        None => without_terminator(listed, 0),
    }
}

/// A directory entry.
struct DirectoryEntry {
    tag: Tag,
    /// The offset of the entry itself in the record.
    offset: usize,
    /// The range of the field in the record according to the entry, including the terminator.
    stated: Option<Range<usize>>,
    found: bool,
    /// The range of the field in the record, without its terminator. It is valid only after the field has been found.
    place: Range<usize>,
}

impl DirectoryEntry {
    /// Marks the entry as found at its stated range, whose last octet is the terminator.
    fn settle(&mut self, stated: Range<usize>) {
        self.found = true;
        self.place = stated.start..stated.end.saturating_sub(1);
    }

    fn missing(&self) -> Repair {
        RepairKind::FieldMissing { tag: self.tag }.at(self.offset)
    }
}

/// The octets between two field terminators.
struct Stretch {
    place: Range<usize>,
    terminated: bool,
    used: bool,
}

impl Stretch {
    /// Returns the stretches after the offset `base`, in order. Octets after the last terminator are a stretch too.
    fn all(content: &[u8], base: usize) -> Vec<Stretch> {
        let area = content.get(base..).unwrap_or_default();
        let mut stretches = Vec::new();
        let mut start = base;
        for piece in area.split_inclusive(|octet| *octet == FIELD_TERMINATOR) {
            let terminated = piece.last() == Some(&FIELD_TERMINATOR);
            let end = start + piece.len();
            stretches.push(Stretch {
                place: start..end - usize::from(terminated),
                terminated,
                used: false,
            });
            start = end;
        }
        stretches
    }

    /// Returns the stretch that begins at `start`, unless it has already been assigned to an entry.
    fn starting(stretches: &mut [Stretch], start: usize) -> Option<&mut Stretch> {
        let index = stretches
            .binary_search_by_key(&start, |stretch| stretch.place.start)
            .ok()?;
        stretches.get_mut(index).filter(|stretch| !stretch.used)
    }

    /// Returns whether the stated octets end with the terminator of this stretch.
    fn ends_with(&self, stated: &Range<usize>) -> bool {
        self.terminated && self.place.end + 1 == stated.end
    }
}

/// Returns the number of entries that together name exactly this stretch, each beginning where the previous entry ends.
fn run_through(entries: &[DirectoryEntry], stretch: &Stretch) -> Option<usize> {
    let mut next = stretch.place.start;
    for (index, entry) in entries.iter().enumerate() {
        let stated = entry.stated.as_ref().filter(|_| !entry.found)?;
        if stated.start != next || stated.is_empty() {
            return None;
        }
        if stretch.ends_with(stated) {
            return Some(index + 1);
        }
        next = stated.end;
    }
    None
}
