//! The lines of a report, one for each answer: a table (`.tsv`, `.csv`) or JSON (`.json`, `.jsonl`). Each line is
//! written immediately.
//!
//! | column | holds |
//! |---|---|
//! | `position`, `target`, `input` | the 1-based number of the input; the target; the input (`\xNN` for octets that are not text) |
//! | `outcome`, `exit` | a word of `OutcomeName` such as `no match`; the exit code for this input alone |
//! | `hits`, `step` | the number of matching records; the search that found them |
//! | `input_record`, `record` | the control numbers (001) of the record that is the input, and of those delivered |
//! | `choice` | the record chosen from several, and the reason |
//! | `diagnostic`, `message` | the server's diagnostic; a message if there is no record |
//! | `milliseconds` | the duration of the answer |
//! | `length` | the number of octets in the output so far, or in the file for this input |
//!
//! Unknown values are empty in the table and null in JSON, where `diagnostic` is an object with the keys `set`, `code`, `text`
//! and `addinfo`.

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use z3950_marc::table::{SEPARATOR, for_spreadsheets};

use super::super::rows::without_formula;
use crate::answer::{Answer, diagnostic};
use crate::render::shown;

/// The columns in the order of the table.
pub(super) const COLUMNS: [&str; 14] = [
    "position",
    "target",
    "input",
    "outcome",
    "exit",
    "hits",
    "step",
    "input_record",
    "record",
    "choice",
    "diagnostic",
    "message",
    "milliseconds",
    "length",
];

/// The columns whose values are numbers.
pub(super) const NUMBERS: [&str; 5] = ["position", "exit", "hits", "milliseconds", "length"];

/// The maximum number of characters of a message or diagnostic in a line.
const MAX_WORDS: usize = 2_000;

/// The file format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReportForm {
    /// A table whose columns are separated by tabs. The first line contains the names of the columns.
    Table,
    /// The same table for spreadsheet programs: with a byte order mark, commas and quotation marks (RFC 4180, although
    /// lines end in LF), and with text in the form that [`for_spreadsheets`] returns.
    Csv,
    /// JSON, with one object per line.
    Json,
}

/// The contents of a report line.
#[derive(Debug, Clone)]
pub(crate) struct ReportLine {
    /// The 1-based number of the input.
    pub(crate) position: u64,
    /// The target, without line ends.
    pub(crate) target: String,
    /// The input, without line ends.
    pub(crate) input: String,
    /// The control number of the input, if the input is a record.
    pub(crate) input_record: Option<String>,
    pub(crate) answer: Answer,
    pub(crate) took: Duration,
    /// The length of the output in octets, including the records of this answer.
    pub(crate) length: u64,
}

/// The parts of a report line that are needed to resume a run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(in crate::batch) struct ParsedLine {
    pub(super) position: u64,
    pub(in crate::batch) target: Option<String>,
    pub(super) input: String,
    pub(super) outcome: String,
    pub(in crate::batch) exit: u8,
    pub(in crate::batch) hits: Option<u64>,
    pub(in crate::batch) step: Option<String>,
    /// The control numbers of the records, in the form of the report, with separators between them.
    pub(in crate::batch) record: Option<String>,
    pub(super) length: u64,
}

impl ReportForm {
    /// Returns the format for a file's extension.
    pub(crate) fn by_extension(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "tsv" => Some(Self::Table),
            "csv" => Some(Self::Csv),
            "json" | "jsonl" => Some(Self::Json),
            _ => None,
        }
    }

    /// Returns the header line, with the names of the columns.
    pub(crate) fn header(self) -> String {
        match self {
            Self::Table => COLUMNS.join("\t") + "\n",
            Self::Csv => format!("\u{feff}{}\n", COLUMNS.join(",")),
            Self::Json => String::new(),
        }
    }

    /// Returns whether these octets may be the beginning of a report in this format.
    pub(super) fn may_begin(self, begin: &[u8]) -> bool {
        match self {
            Self::Table | Self::Csv => begin
                .iter()
                .take_while(|octet| !matches!(octet, b'\t' | b','))
                .all(u8::is_ascii_digit),
            Self::Json => b"{".starts_with(begin) || begin.starts_with(b"{"),
        }
    }

    /// Returns the report line for an answer.
    pub(crate) fn line(self, entry: &ReportLine) -> String {
        let answer = &entry.answer;
        let ending = &answer.ending;
        let diagnostic = ending.diagnostics.0.first().map(diagnostic);
        let milliseconds = u64::try_from(entry.took.as_millis()).unwrap_or(u64::MAX);
        let line = json!({
            "position": entry.position,
            "target": Some(&entry.target).filter(|target| !target.is_empty()),
            "input": entry.input,
            "outcome": ending.outcome.as_str(),
            "exit": answer.exit as u8,
            "hits": ending.hits,
            "step": ending.step_name.as_ref().or(ending.step.as_ref()),
            "input_record": entry.input_record.as_deref().map(bounded),
            "record": Some(bounded(&answer.records.join(SEPARATOR))).filter(|all| !all.is_empty()),
            "choice": ending.choice.as_deref().map(bounded),
            "diagnostic": diagnostic.as_ref().map(bounded_values),
            "message": answer.message.as_deref().map(bounded),
            "milliseconds": milliseconds,
            "length": entry.length,
        });
        match self {
            Self::Json => format!("{line}\n"),
            Self::Table => COLUMNS.map(|column| cell(line.get(column))).join("\t") + "\n",
            Self::Csv => row(COLUMNS.map(|column| cell(line.get(column)))),
        }
    }

    /// Returns a report line in which the length of the output is replaced by `length`; `None` if `line` is not a
    /// report line. The result has a line end, but `line` does not.
    pub(super) fn with_length(self, line: &str, length: u64) -> Option<String> {
        match self {
            Self::Table => {
                let (rest, _) = line.rsplit_once('\t')?;
                Some(format!("{rest}\t{length}\n"))
            }
            Self::Csv => {
                let (rest, _) = line.rsplit_once(',')?;
                Some(format!("{rest},{length}\n"))
            }
            Self::Json => {
                let mut line: Value = serde_json::from_str(line).ok()?;
                *line.get_mut("length")? = length.into();
                Some(format!("{line}\n"))
            }
        }
    }

    /// Parses a line without its line end; `None` if it is not a report line.
    pub(super) fn read(self, line: &str) -> Option<ParsedLine> {
        if self == Self::Json {
            return serde_json::from_str(line).ok();
        }
        let cells: Vec<String> = match self {
            Self::Csv => unquoted(line).into_iter().map(without_marks).collect(),
            _ => line.split('\t').map(str::to_owned).collect(),
        };
        let [
            position,
            target,
            input,
            outcome,
            exit,
            hits,
            step,
            ..,
            length,
        ] = cells.as_slice()
        else {
            return None;
        };
        if cells.len() != COLUMNS.len() {
            return None;
        }
        let record = COLUMNS
            .iter()
            .position(|column| *column == "record")
            .and_then(|place| cells.get(place));
        Some(ParsedLine {
            position: position.parse().ok()?,
            target: Some(target.clone()),
            input: input.clone(),
            outcome: outcome.clone(),
            exit: exit.parse().ok()?,
            hits: hits.parse().ok(),
            step: Some(step).filter(|step| !step.is_empty()).cloned(),
            record: record.filter(|record| !record.is_empty()).cloned(),
            length: length.parse().ok()?,
        })
    }
}

impl ReportForm {
    /// Returns whether `reported` is the form in which a report shows the text of a target or an input.
    pub(super) fn shows(self, reported: &str, text: &str) -> bool {
        reported == text || (self == Self::Csv && reported == for_spreadsheets(text))
    }
}

/// Returns a row of a comma-separated table, with text in the form that spreadsheet programs keep unchanged.
pub(super) fn row(cells: [String; COLUMNS.len()]) -> String {
    let cells = COLUMNS.iter().zip(cells).map(|(column, cell)| {
        if NUMBERS.contains(column) {
            cell
        } else {
            quoted(for_spreadsheets(&cell).into_owned())
        }
    });
    cells.collect::<Vec<_>>().join(",") + "\n"
}

/// Returns the text of a cell, without the formula in which it may be written; see [`without_formula`].
fn without_marks(cell: String) -> String {
    String::from_utf8(without_formula(cell.into_bytes())).unwrap_or_default()
}

/// Quotes a cell of a table with commas, if necessary.
fn quoted(cell: String) -> String {
    if cell.contains([',', '"']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}

/// Returns the cells of a comma-separated row, without their quotation marks.
fn unquoted(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    let mut last = ' ';
    for character in line.chars() {
        let is_mark = character == '"';
        match (character, cells.last_mut()) {
            (',', _) if !is_quoted => cells.push(String::new()),
            // Two quotation marks in a row stand for one quotation mark in the text.
            ('"', Some(cell)) if !is_quoted && last == '"' => cell.push('"'),
            ('"', _) => {}
            (character, Some(cell)) => cell.push(character),
            (_, None) => {}
        }
        is_quoted ^= is_mark;
        last = character;
    }
    cells
}

/// Returns a value as the text of a cell, on one line.
fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => shown(text.as_bytes()),
        Some(diagnostic @ Value::Object(_)) => shown(bounded(&in_words(diagnostic)).as_bytes()),
        Some(other) => other.to_string(),
    }
}

/// Returns the text for a diagnostic, such as `114 Unsupported Use attribute (1=9)`.
fn in_words(diagnostic: &Value) -> String {
    let text = |key: &str| match diagnostic.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => String::new(),
        Some(other) => other.to_string(),
    };
    let said = format!("{} {}", text("code"), text("text"));
    match text("addinfo") {
        addinfo if addinfo.is_empty() => said.trim().to_owned(),
        addinfo => format!("{} ({addinfo})", said.trim()),
    }
}

/// Shortens text to at most [`MAX_WORDS`] characters.
fn bounded(words: &str) -> &str {
    let end = words.char_indices().nth(MAX_WORDS);
    end.and_then(|(end, _)| words.get(..end)).unwrap_or(words)
}

fn bounded_values(object: &Value) -> Value {
    let Value::Object(object) = object else {
        return object.clone();
    };
    let values = object.iter().map(|(key, value)| match value {
        Value::String(text) => (key.clone(), bounded(text).into()),
        other => (key.clone(), other.clone()),
    });
    Value::Object(values.collect())
}

#[cfg(test)]
mod tests {
    use z3950::error::Diagnostics;
    use z3950::find::Ending;
    use z3950::retrieve::OutcomeName;
    use z3950_asn1::apdu::{DefaultDiagFormat, DiagRec};

    use super::*;
    use crate::batch::arguments::Batch;
    use crate::console::exit::Exit;

    fn refusal(addinfo: &str) -> Diagnostics {
        DiagRec::DefaultFormat(DefaultDiagFormat::bib1(114, addinfo)).into()
    }

    fn entry() -> ReportLine {
        let mut ending = Ending::default();
        ending.outcome = OutcomeName::SearchRefused;
        ending.step = Some("1=7".to_owned());
        ending.step_name = Some("ISBN".to_owned());
        ending.choice = Some("2, \"of\" 3".to_owned());
        ending.diagnostics = refusal("1=\t9");
        ReportLine {
            position: 7,
            target: "lib.example/books".to_owned(),
            input: "isbn:0\\x09".to_owned(),
            answer: Answer {
                ending,
                exit: Exit::Refused,
                records: vec!["b1".to_owned(), "b2".to_owned()],
                failed: Vec::new(),
                message: Some("refused\nby the server".to_owned()),
            },
            input_record: Some("old\t1".to_owned()),
            took: Duration::from_micros(12_900),
            length: 4_096,
        }
    }

    #[test]
    fn lines_have_every_column_and_read_back() {
        for (form, expected) in [
            (
                ReportForm::Table,
                "7\tlib.example/books\tisbn:0\\x09\tsearch refused\t5\t\tISBN\told\\x091\tb1 | b2\t2, \"of\" 3\t114 the server has no such search field (Use attribute) (1=\\x099)\t\
                 refused\\x0aby the server\t12\t4096\n",
            ),
            (
                ReportForm::Csv,
                "7,lib.example/books,isbn:0\\x09,search refused,5,,ISBN,old\\x091,b1 | b2,\"2, \"\"of\"\" 3\",114 the server has no such search field (Use \
                 attribute) (1=\\x099),refused\\x0aby the server,12,4096\n",
            ),
            (
                ReportForm::Json,
                "{\"position\":7,\"target\":\"lib.example/books\",\"input\":\"isbn:0\\\\x09\",\"outcome\":\"search refused\",\
                 \"exit\":5,\"hits\":null,\"step\":\"ISBN\",\"input_record\":\"old\\t1\",\"record\":\"b1 | b2\",\"choice\":\"2, \\\"of\\\" 3\",\"diagnostic\":{\"set\":\"1.2.840.10003.4.1\",\"code\":114,\
                 \"text\":\"the server has no such search field (Use attribute)\",\"addinfo\":\"1=\\t9\"},\"message\":\"refused\\nby the server\",\
                 \"milliseconds\":12,\"length\":4096}\n",
            ),
        ] {
            let line = form.line(&entry());
            assert_eq!(line, expected);
            let kept = form.read(line.trim_end_matches('\n')).expect("a line");
            let found = (kept.position, kept.exit, kept.length);
            assert_eq!(found, (7, 5, 4_096));
            assert_eq!(
                (kept.target, kept.input),
                (Some(entry().target), entry().input)
            );
            assert_eq!(form.read(&line[1..line.len() / 2]), None);
            let moved = form.with_length(line.trim_end_matches('\n'), 7);
            assert_eq!(moved, Some(line.replace("4096", "7")));
        }
    }

    #[test]
    fn r_f15_spreadsheets_keep_the_values_of_a_report() {
        for (input, shown) in [
            ("0141439513", "\"=\"\"0141439513\"\"\""),
            ("9780141439518", "\"=\"\"9780141439518\"\"\""),
            ("12-05", "\"=\"\"12-05\"\"\""),
            ("=1+1", "'=1+1"),
            ("'=1+1", "'=1+1"),
            ("-", "-"),
            ("isbn:0141439513", "isbn:0141439513"),
            ("a, \"b\"", "\"a, \"\"b\"\"\""),
        ] {
            let line = ReportForm::Csv.line(&ReportLine {
                input: input.to_owned(),
                ..entry()
            });
            let begin = format!("7,lib.example/books,{shown},search refused,5,");
            assert!(line.starts_with(&begin), "{line}");
            let read = ReportForm::Csv.read(line.trim_end()).expect("a line");
            assert!(ReportForm::Csv.shows(&read.input, input), "{line}");
            assert!(!ReportForm::Csv.shows(&read.input, "0306406152"), "{line}");
            // A table with tabs is read by programs, which need the text unchanged.
            let line = ReportForm::Table.line(&ReportLine {
                input: input.to_owned(),
                ..entry()
            });
            assert!(line.contains(&format!("\t{input}\t")), "{line}");
        }
        assert!(
            ReportForm::Csv
                .header()
                .starts_with("\u{feff}position,target,")
        );
        for column in NUMBERS {
            assert!(COLUMNS.contains(&column));
        }
    }

    #[test]
    fn marks_in_cells_are_read_back() {
        for cell in [
            "", "a", "a,b", "\"", "\"\"", "a\"b", "\",\"", ",", "a\"", "\"a",
        ] {
            let line = [quoted(cell.to_owned()), quoted(cell.to_owned())].join(",");
            assert_eq!(unquoted(&line), [cell, cell], "{line}");
        }
    }

    #[test]
    fn the_help_lists_every_column() {
        let command = <Batch as clap::Args>::augment_args(clap::Command::new("batch"));
        let mut options = command.get_arguments();
        let report = options.find(|option| option.get_id() == "report");
        let help = report
            .and_then(clap::Arg::get_long_help)
            .expect("a help")
            .to_string()
            .replace(['(', ')', ',', '.'], " ");
        let words: Vec<&str> = help.split_whitespace().collect();
        for column in COLUMNS {
            assert!(words.contains(&column), "{column}");
        }
    }

    #[test]
    fn text_from_servers_is_bounded() {
        let mut entry = entry();
        let long = "é".repeat(MAX_WORDS * 3);
        entry.answer.message = Some(long.clone());
        entry.answer.ending.diagnostics = refusal(&long);
        for (form, most) in [
            (ReportForm::Table, 4 * MAX_WORDS),
            (ReportForm::Json, 6 * MAX_WORDS + 400),
        ] {
            let line = form.line(&entry);
            assert!(line.len() <= most + 400, "{}", line.len());
        }
    }

    #[test]
    fn the_page_on_batches_describes_every_column() {
        let page = include_str!("../../../../docs/batches.md");
        for column in COLUMNS {
            let row = format!("\n| `{column}` | ");
            assert!(page.contains(&row), "{column}");
        }
    }

    #[test]
    fn extensions_are_forms() {
        for (name, form) in [
            ("a.tsv", Some(ReportForm::Table)),
            ("a.csv", Some(ReportForm::Csv)),
            ("a.json", Some(ReportForm::Json)),
            ("a.jsonl", Some(ReportForm::Json)),
            ("a.txt", None),
            ("tsv", None),
        ] {
            assert_eq!(ReportForm::by_extension(Path::new(name)), form, "{name}");
        }
    }
}
