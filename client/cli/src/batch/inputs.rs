//! Reads inputs from files and standard input, one per line or record. The length of an input is bounded, and inputs
//! are read only when they are needed.

use std::collections::VecDeque;
use std::io::{self, BufRead, Cursor, Read};
use std::sync::Arc;

use z3950_marc::MarcRecord;
use z3950_marc::stream::{InputForm, RecordReader};

use super::column::{ColumnCell, ColumnReader};
use super::rows::{BYTE_ORDER_MARK, WORKBOOK, is_workbook, without_formula};
use super::text;
use crate::answer::{Ask, MAX_INPUT, NameRecord, Origin};
use crate::console::input::bounded_line;
use crate::console::output::Failure;

/// Returns the reason why a file that begins with these octets cannot contain inputs, for example that it is binary;
/// `None` if it can.
pub(crate) fn refusal(begin: &[u8]) -> Option<&'static str> {
    let begin = begin.get(..PEEKED).unwrap_or(begin);
    if is_workbook(begin) {
        return Some(WORKBOOK);
    }
    if text::is_utf16(begin) {
        return None;
    }
    let has = |octets: &[u8]| begin.iter().any(|octet| octets.contains(octet));
    if has(b"\x1D\x1E\x1F") {
        return Some("it holds MARC records, not one input a line; z3950 convert shows them");
    }
    has(b"\0").then_some("it is binary, not text with one input a line")
}

/// The number of octets at the beginning of a file that are examined to decide whether it is text.
const PEEKED: usize = 4096;

/// Returns the form of the records in a file that begins with these octets; `None` if it contains one input per line.
pub(crate) fn record_form(begin: &[u8]) -> Option<InputForm> {
    let begin = begin.get(..PEEKED).unwrap_or(begin);
    if text::is_utf16(begin) && !begins_with_element(begin.get(2..).unwrap_or_default()) {
        return None;
    }
    match InputForm::guess(begin)? {
        // An input that is a long number can look like a leader, so a field terminator is also required.
        InputForm::Marc => begin.contains(&0x1E).then_some(InputForm::Marc),
        InputForm::Mrk => {
            let lines = begin.split(|octet| *octet == b'\n');
            let mut lines = lines.map(<[u8]>::trim_ascii_start);
            let first = lines.find(|line| !matches!(line, [] | [b'#', ..]))?;
            begins_field(first).then_some(InputForm::Mrk)
        }
        form => Some(form),
    }
}

/// Returns whether UTF-16 text begins with `<` after its byte order mark.
fn begins_with_element(text: &[u8]) -> bool {
    let mut octets = text
        .iter()
        .filter(|octet| **octet != 0 && !octet.is_ascii_whitespace());
    octets.next() == Some(&b'<')
}

/// Returns whether a line begins a field in MARCMaker format: `=001  ` does, and a formula such as `="0141439513"`
/// does not.
fn begins_field(line: &[u8]) -> bool {
    let rest = line
        .strip_prefix(b"=")
        .and_then(|rest| rest.split_at_checked(3));
    rest.is_some_and(|(tag, _)| tag.iter().all(u8::is_ascii_alphanumeric))
}

/// The headings that are recognised in the first line of a table with one column.
const HEADINGS: [&str; 14] = [
    "isbn",
    "isbn10",
    "isbn13",
    "isbn-10",
    "isbn-13",
    "issn",
    "eissn",
    "lccn",
    "oclc",
    "docid",
    "id",
    "identifier",
    "number",
    "url",
];

fn is_heading(line: &[u8]) -> bool {
    HEADINGS
        .iter()
        .any(|name| line.eq_ignore_ascii_case(name.as_bytes()))
}

/// Returns the text of a line of a one-column table: without enclosing quotes or formula, and without empty cells.
fn unwrapped(line: &[u8]) -> Vec<u8> {
    let is_empty = |octet: &u8| matches!(octet, b';' | b',' | b'\t' | b' ' | b'"');
    if line.iter().all(is_empty) {
        return Vec::new();
    }
    let line = without_formula(line.to_vec());
    let inner = line
        .strip_prefix(b"\"")
        .and_then(|rest| rest.strip_suffix(b"\""));
    match inner {
        Some(text) if !text.contains(&b'"') => text.trim_ascii().to_vec(),
        _ => line,
    }
}

/// Inputs from several sources, one after the other.
///
/// Lines are trimmed; blank lines and lines that begin with `#` are skipped. A read error ends the run, because the
/// inputs of later sources would have different numbers than in a run without the error.
#[derive(Default)]
pub(crate) struct Inputs {
    given: VecDeque<Vec<u8>>,
    sources: VecDeque<Source>,
    /// The number of inputs read so far.
    count: u64,
    /// The function that makes inputs from records; `None` if records are not accepted.
    names_records: Option<NameRecord>,
}

struct Source {
    name: Arc<str>,
    /// The number of lines or records read so far from the current source.
    read: u64,
    /// Whether a line that contains an input or a heading has been read.
    has_begun: bool,
    /// Whether the file name has a table's extension.
    is_table: bool,
    contents: SourceContents,
}

/// The contents of a source.
enum SourceContents {
    /// A source whose form has not been detected yet.
    Unknown(Box<dyn BufRead + Send>),
    Lines(Box<dyn BufRead + Send>),
    Records(Box<RecordReader<Box<dyn BufRead + Send>>>),
    Cells(Box<ColumnReader<Box<dyn BufRead + Send>>>),
}

/// A line or record from a source.
enum SourceItem {
    Line(Vec<u8>),
    Cell(ColumnCell),
    Record(Result<MarcRecord, String>),
}

impl Inputs {
    /// Creates the inputs given on the command line, which are not trimmed. Sources can be added to them.
    pub(crate) fn given(texts: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self {
            given: texts.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Accepts records in files as inputs; `names` makes an input from each record.
    pub(crate) fn naming_records(mut self, names: Option<NameRecord>) -> Self {
        self.names_records = names;
        self
    }

    /// Adds the lines or records of a file after the existing inputs.
    pub(crate) fn add(&mut self, name: impl Into<String>, lines: impl BufRead + Send + 'static) {
        self.sources.push_back(Source {
            name: name.into().into(),
            read: 0,
            has_begun: false,
            is_table: false,
            contents: SourceContents::Unknown(Box::new(lines)),
        });
    }

    /// Adds the lines of a one-column table. The first line is a heading if it contains no digit.
    pub(crate) fn add_table(
        &mut self,
        name: impl Into<String>,
        lines: impl BufRead + Send + 'static,
    ) {
        self.add(name, lines);
        if let Some(source) = self.sources.back_mut() {
            source.is_table = true;
        }
    }

    /// Adds the cells of a table after the existing inputs. Each cell is an input, even if it is empty.
    pub(crate) fn add_cells(
        &mut self,
        name: impl Into<String>,
        cells: ColumnReader<Box<dyn BufRead + Send>>,
    ) {
        self.sources.push_back(Source {
            name: name.into().into(),
            read: 0,
            has_begun: false,
            is_table: false,
            contents: SourceContents::Cells(Box::new(cells)),
        });
    }

    fn ask(&mut self, input: &[u8], origin: Option<Origin>) -> Ask {
        self.count += 1;
        Ask {
            position: self.count,
            target: 0,
            input: input.get(..MAX_INPUT).unwrap_or(input).into(),
            is_cut: input.len() > MAX_INPUT,
            origin,
            record: None,
            repeats: None,
        }
    }

    /// Returns the `Ask` for a record. Its input is the name of the record. If the record is damaged or has no name,
    /// the input is text that contains the record's number.
    fn ask_record(&mut self, found: Result<MarcRecord, String>, origin: Origin) -> Ask {
        let name = match (&found, self.names_records) {
            (Ok(record), Some(name)) => name(record),
            _ => String::new(),
        };
        let input = match (&found, name.as_str()) {
            (Err(damage), _) => format!("record {}: {damage}", origin.number),
            (Ok(_), "") => format!("record {}", origin.number),
            (Ok(_), name) => name.to_owned(),
        };
        Ask {
            record: found.ok().map(Arc::new),
            ..self.ask(input.as_bytes(), Some(origin))
        }
    }
}

impl Iterator for Inputs {
    /// An `Ask` that consists of the next input and the first target.
    type Item = Result<Ask, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(given) = self.given.pop_front() {
            return Some(Ok(self.ask(&given, None)));
        }
        loop {
            let takes_records = self.names_records.is_some();
            let source = self.sources.front_mut()?;
            let found = source.next(takes_records);
            let origin = Origin {
                name: Arc::clone(&source.name),
                number: source.read,
                is_record: matches!(found, Ok(Some(SourceItem::Record(_)))),
            };
            match found {
                Ok(None) => drop(self.sources.pop_front()),
                Ok(Some(SourceItem::Record(record))) => {
                    return Some(Ok(self.ask_record(record, origin)));
                }
                Ok(Some(SourceItem::Cell(cell))) => {
                    return Some(Ok(self.ask(cell.text.trim_ascii(), Some(origin))));
                }
                Ok(Some(SourceItem::Line(line))) => {
                    let line = line.trim_ascii();
                    let input = unwrapped(line);
                    if input.is_empty() || line.starts_with(b"#") {
                        continue;
                    }
                    let is_first = !std::mem::replace(&mut source.has_begun, true);
                    let is_name = |input: &[u8]| {
                        is_heading(input)
                            || source.is_table && !input.iter().any(u8::is_ascii_digit)
                    };
                    if !is_first || !is_name(&input) {
                        return Some(Ok(self.ask(&input, Some(origin))));
                    }
                }
                Err(error) => {
                    let failure = Failure::input(&source.name, &error);
                    self.sources.clear();
                    return Some(Err(failure));
                }
            }
        }
    }
}

impl Source {
    /// Returns the next line or record. If a line is too long, only its beginning is read.
    fn next(&mut self, takes_records: bool) -> io::Result<Option<SourceItem>> {
        if let SourceContents::Unknown(_) = self.contents {
            self.begin(takes_records)?;
        }
        let item = match &mut self.contents {
            SourceContents::Records(records) => match records.next().transpose()? {
                Some(found) => SourceItem::Record(found.record),
                None => return Ok(None),
            },
            SourceContents::Cells(cells) => match cells.next()? {
                Some(cell) => {
                    self.read = cell.line;
                    return Ok(Some(SourceItem::Cell(cell)));
                }
                None => return Ok(None),
            },
            SourceContents::Lines(lines) | SourceContents::Unknown(lines) => {
                match bounded_line(lines, MAX_INPUT)? {
                    Some(line) => SourceItem::Line(line),
                    None => return Ok(None),
                }
            }
        };
        self.read += 1;
        Ok(Some(item))
    }

    /// Detects the form of the current source. In the case of a pipe, this waits for the first line only.
    fn begin(&mut self, takes_records: bool) -> io::Result<()> {
        let nothing = SourceContents::Lines(Box::new(io::empty()));
        let SourceContents::Unknown(mut rest) = std::mem::replace(&mut self.contents, nothing)
        else {
            return Ok(());
        };
        let mut begin = Vec::new();
        while begin.len() < PEEKED && !begin.contains(&b'\n') {
            let chunk = rest.fill_buf()?;
            let length = chunk.len();
            if length == 0 {
                break;
            }
            begin.extend_from_slice(chunk);
            rest.consume(length);
        }
        let form = record_form(&begin).filter(|_| takes_records);
        if form.is_none() {
            let line = begin.split_inclusive(|octet| *octet == b'\n').next();
            if let Some(words) = refusal(line.unwrap_or_default()) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, words));
            }
            if begin.starts_with(BYTE_ORDER_MARK) {
                begin.drain(..BYTE_ORDER_MARK.len());
            }
        }
        let is_utf16 = text::is_utf16(&begin);
        let is_of_returns = text::has_lone_return(&begin);
        let all: Box<dyn BufRead + Send> = Box::new(Cursor::new(begin).chain(rest));
        self.contents = match form {
            Some(form) => SourceContents::Records(Box::new(RecordReader::new(all, form))),
            None if is_utf16 => SourceContents::Lines(text::with_line_feeds(text::from_utf16(all))),
            None if is_of_returns => SourceContents::Lines(text::with_line_feeds(all)),
            None => SourceContents::Lines(all),
        };
        Ok(())
    }
}

/// Returns an `Ask` for each input and each target, in order.
pub(crate) fn asks(
    inputs: impl Iterator<Item = Result<Ask, Failure>> + Send,
    targets: usize,
) -> impl Iterator<Item = Result<Ask, Failure>> + Send {
    let at_all = move |ask: Ask| {
        (0..targets.max(1)).map(move |target| {
            let ask = ask.clone();
            Ok(Ask { target, ..ask })
        })
    };
    inputs.flat_map(move |ask| {
        let (ask, failure) = match ask {
            Ok(ask) => (Some(ask), None),
            Err(failure) => (None, Some(Err(failure))),
        };
        ask.into_iter().flat_map(at_all).chain(failure)
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn binary_files_are_refused() {
        let marc = b"00123nam a2200061 a 4500001000400000\x1Eid1\x1E\x1D";
        for (begin, words) in [
            (&marc[..], "MARC records"),
            (b"\x7FELF\x02\x00\x00", "binary"),
            (b"PK\x03\x04\x14\x00", "save the sheet as CSV"),
            (b"\xFF\xFEa\x00\n\x00", ""),
            (b"isbn:0306406152\n", ""),
            ("b\u{fc}cher\n\tx\r\n".as_bytes(), ""),
        ] {
            let found = refusal(begin).unwrap_or_default();
            assert_eq!(found.is_empty(), words.is_empty(), "{found}");
            assert!(found.contains(words), "{found}");
            let mut inputs = Inputs::default();
            inputs.add("it", io::Cursor::new(begin));
            let first = inputs.next().expect("a line");
            assert_eq!(first.is_err(), !words.is_empty());
        }
    }

    #[test]
    fn records_are_inputs_where_they_are_taken() {
        let marc = b"00045nam a2200037 a 4500001000300000\x1Eb1\x1E\x1D";
        let control_number = |record: &MarcRecord| {
            let number = record.control_number().unwrap_or_default();
            String::from_utf8_lossy(number).into_owned()
        };
        let two = [&marc[..], marc].concat();
        let damaged = [&marc[..], b"00045 nothing of a record\x1D", marc].concat();
        for (begin, expected) in [
            (&marc[..], &["1 b1"][..]),
            (&two, &["1 b1", "2 b1"]),
            (&damaged, &["1 b1", "2 -", "3 b1"]),
            (b"=LDR  00000nam a2200000 a 4500\n=001  b2\n", &["1 b2"]),
            (
                b"# a comment\n=LDR  00000nam a2200000 a 4500\n=001  b3\n",
                &["1 b3"],
            ),
            (b"# a comment\n0306406152\n", &["1 - 0306406152"]),
            (b"030640615X\n", &["1 - 030640615X"]),
            (b"", &[]),
        ] {
            let mut inputs = Inputs::default().naming_records(Some(control_number));
            inputs.add("it", io::Cursor::new(begin.to_vec()));
            let found: Vec<String> = inputs
                .map(|ask| {
                    let ask = ask.expect("an input");
                    match (&ask.record, &ask.origin) {
                        (Some(_), _) => format!("{} {ask}", ask.position),
                        (None, Some(origin)) if origin.is_record => format!("{} -", ask.position),
                        (None, _) => format!("{} - {ask}", ask.position),
                    }
                })
                .collect();
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(begin));
        }
    }

    #[test]
    fn audit_r_b8_lines_of_tables_are_unwrapped() {
        let utf16: Vec<u8> = "\u{feff}ISBN\r\n0141439513\r\n"
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        for (text, expected) in [
            (
                &b"=\"0141439513\"\n=\"0306406152\"\n"[..],
                &["1 1 0141439513", "2 2 0306406152"][..],
            ),
            (b"\"0141439513\"\n", &["1 1 0141439513"]),
            (
                b"ISBN\n0141439513\n0306406152\n",
                &["1 2 0141439513", "2 3 0306406152"],
            ),
            (b"# mine\n\"isbn\"\r\n0141439513\r\n", &["1 3 0141439513"]),
            (b"0141439513\nISBN\n", &["1 1 0141439513", "2 2 ISBN"]),
            (b"0141439513\n;;;\n,,\n\"\"\n", &["1 1 0141439513"]),
            (
                b"0141439513\r0306406152\r",
                &["1 1 0141439513", "2 2 0306406152"],
            ),
            (
                b"0141439513\r\n0306406152\r\n",
                &["1 1 0141439513", "2 2 0306406152"],
            ),
            (b"=\"1\"&\"2\"\n", &["1 1 =\"1\"&\"2\""]),
            (
                b"z39.50r://h.dom/a;esn=f\n",
                &["1 1 z39.50r://h.dom/a;esn=f"],
            ),
            (&utf16, &["1 2 0141439513"]),
        ] {
            let mut inputs = Inputs::default().naming_records(Some(|_| String::new()));
            inputs.add("it", io::Cursor::new(text.to_vec()));
            let found: Vec<String> = inputs
                .map(|ask| {
                    let ask = ask.expect("an input");
                    let line = ask.origin.as_ref().map_or(0, |origin| origin.number);
                    format!("{} {line} {ask}", ask.position)
                })
                .collect();
            assert_eq!(found, expected, "{}", text.escape_ascii());
        }
    }

    fn texts(asks: impl Iterator<Item = Result<Ask, Failure>>) -> Vec<String> {
        asks.map(|ask| match ask {
            Ok(ask) => format!("{} {} {ask}", ask.position, ask.target),
            Err(error) => error.to_string(),
        })
        .collect()
    }

    #[test]
    fn lines_are_inputs_by_position() {
        for (given, files, targets, expected) in [
            (&[][..], &[][..], 1, &[][..]),
            (
                &["# as it is", " b "],
                &["\u{feff}c\r\n\r\n  # comment\n c\t\n", "last"],
                1,
                &["1 0 # as it is", "2 0  b ", "3 0 c", "4 0 c", "5 0 last"],
            ),
            (
                &[],
                &["\n\n", "#\n", "a\nb"],
                2,
                &["1 0 a", "1 1 a", "2 0 b", "2 1 b"],
            ),
        ] {
            let given = given.iter().map(|text| text.as_bytes().to_vec());
            let mut inputs = Inputs::given(given);
            for (number, file) in files.iter().enumerate() {
                inputs.add(format!("file {number}"), io::Cursor::new(*file));
            }
            assert_eq!(texts(asks(inputs, targets)), expected);
        }
    }

    #[test]
    fn long_lines_are_cut_and_later_lines_are_found() {
        for (length, is_cut) in [
            (MAX_INPUT - 1, false),
            (MAX_INPUT, false),
            (MAX_INPUT + 1, true),
            (MAX_INPUT + 2, true),
            (3 * MAX_INPUT, true),
        ] {
            for end in ["\n", "\r\n"] {
                let mut inputs = Inputs::default();
                let text = format!("{}{end}next", "x".repeat(length));
                inputs.add("file", io::Cursor::new(text));
                let found: Vec<_> = inputs.map(|input| input.expect("in memory")).collect();
                let shown: Vec<_> = found
                    .iter()
                    .map(|ask| (ask.input.len(), ask.is_cut))
                    .collect();
                assert_eq!(
                    shown,
                    [(length.min(MAX_INPUT), is_cut), (4, false)],
                    "{length}"
                );
            }
        }
    }

    #[test]
    fn a_read_error_ends_all_inputs() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("broken"))
            }
        }
        let mut inputs = Inputs::default();
        inputs.add("first", io::Cursor::new("a\n"));
        inputs.add("second", io::BufReader::new(Broken));
        inputs.add("third", io::Cursor::new("c\n"));
        assert_eq!(
            texts(asks(inputs, 1)),
            ["1 0 a", "cannot read second: broken"]
        );
    }
}
