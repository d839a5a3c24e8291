//! Formats holdings as a human-readable table.

use super::Holding;

/// The maximum width of a column in characters. A longer cell is not truncated, but does not widen the column.
pub(super) const WIDEST: usize = 60;

type Column = (&'static str, fn(&Holding) -> Option<String>);

const COLUMNS: &[Column] = &[
    ("Library", |holding| holding.library.clone()),
    ("Location", |holding| holding.location.clone()),
    ("Shelf", |holding| holding.shelving_location.clone()),
    ("Now at", |holding| holding.temporary_location.clone()),
    ("Call number", |holding| holding.call_number.clone()),
    ("Volume", |holding| holding.volume.clone()),
    ("Copy", |holding| holding.copy.clone()),
    ("Available", |holding| holding.available.map(yes_or_no)),
    ("Due", |holding| holding.due.clone()),
    ("Holds", holds),
    ("Item", |holding| holding.item_id.clone()),
    ("Status", |holding| holding.status.clone()),
    ("Restrictions", |holding| holding.restrictions.clone()),
    ("Note", |holding| holding.note.clone()),
];

/// Returns the holdings as lines that begin with two spaces: a heading, then a line for each holding. Columns without
/// any value are left out; if no column has a value, the result is empty.
pub fn table(holdings: &[Holding]) -> String {
    let has_value = |column: &&Column| holdings.iter().any(|holding| (column.1)(holding).is_some());
    let columns: Vec<&Column> = COLUMNS.iter().filter(has_value).collect();
    if columns.is_empty() {
        return String::new();
    }
    let heading: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut rows = vec![heading];
    rows.extend(holdings.iter().map(|holding| {
        let cells = columns
            .iter()
            .map(|(_, value)| value(holding).unwrap_or_default());
        cells.collect()
    }));
    let mut widths = vec![0; columns.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().min(WIDEST).max(*width);
        }
    }
    let mut out = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let line: String = cells
            .map(|(cell, width)| format!("  {cell:<width$}"))
            .collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

impl Holding {
    /// Returns the cells of this holding in a table of records (`z3950_marc::table::COPY_COLUMNS`): the names of
    /// columns with their values. Unknown values are left out.
    pub fn cells(&self) -> Vec<(&'static str, String)> {
        let cells = [
            ("holdings", Some(self.summary())),
            ("library", self.library.clone()),
            ("location", self.location.clone()),
            ("call_number", self.call_number.clone()),
            ("volume", self.volume.clone()),
            ("item_id", self.item_id.clone()),
            ("available", self.available.map(yes_or_no)),
            ("due", self.due.clone()),
            ("status", self.status.clone()),
        ];
        let known = cells
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        known.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Returns a summary such as `Demo Library, Main, PR4034 .E5, v.2: due 2026-12-01`; unknown values are left out.
    fn summary(&self) -> String {
        let parts = [
            &self.library,
            &self.location,
            &self.shelving_location,
            &self.call_number,
            &self.volume,
            &self.copy,
        ];
        let parts: Vec<&str> = parts
            .into_iter()
            .filter_map(|part| part.as_deref())
            .collect();
        let state = match (self.available, &self.due, &self.status) {
            (Some(true), ..) => Some("available".to_owned()),
            (_, Some(due), _) => Some(format!("due {due}")),
            (_, None, Some(status)) => Some(status.clone()),
            (Some(false), None, None) => Some("not available".to_owned()),
            (None, None, None) => None,
        };
        let place = Some(parts.join(", ")).filter(|place| !place.is_empty());
        let parts: Vec<String> = place.into_iter().chain(state).collect();
        parts.join(": ")
    }
}

fn yes_or_no(flag: bool) -> String {
    if flag { "yes" } else { "no" }.to_owned()
}

/// Returns the number of holds, or `yes` if there are holds but their number is unknown.
fn holds(holding: &Holding) -> Option<String> {
    let number = holding.holds.map(|holds| holds.to_string());
    number.or(holding.on_hold.filter(|is_held| *is_held).map(yes_or_no))
}
