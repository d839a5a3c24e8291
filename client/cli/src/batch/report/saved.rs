//! Restores reports that a spreadsheet program has saved with semicolons or different line ends, without the byte order
//! mark, or with plain text in place of formulas. They are rewritten in their original form, so that a run can continue
//! them.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

use z3950_files::{Draft, Existing, Lock};

use super::form::{COLUMNS, ReportForm, row};
use super::resume::MAX_LINE;
use crate::batch::rows::{Row, RowReader, without_formula};
use crate::console::output::Failure;

/// Rewrites the report in its original form if another program has saved it. Returns whether the report was rewritten.
///
/// A file that is not a report in table form is left unchanged, and refused when it is read.
pub(super) fn restore(path: &Path) -> Result<bool, Failure> {
    let unread = |error: io::Error| Failure::input(&path.display().to_string(), &error);
    if !path.is_file() || has_own_form(path).map_err(unread)? {
        return Ok(false);
    }
    let lock = Lock::take(path).map_err(|error| Failure::unopened(&error, ""))?;
    let report = File::open(path).map_err(unread)?;
    let mut draft = Draft::hidden(lock.target())?;
    let mut out = BufWriter::new(draft.file());
    let unwritten = |error: io::Error| Failure::unwritten(path, &error);
    let header = ReportForm::Csv.header();
    out.write_all(header.as_bytes()).map_err(unwritten)?;
    let mut rows = RowReader::new(BufReader::new(report));
    let mut has_names = false;
    let most = usize::try_from(MAX_LINE).unwrap_or(usize::MAX);
    while let Some(found) = rows.next(most).map_err(unread)? {
        let Some(cells) = texts(found) else {
            return Ok(false);
        };
        if has_names {
            out.write_all(row(cells).as_bytes()).map_err(unwritten)?;
        } else if cells == COLUMNS {
            has_names = true;
        } else {
            return Ok(false);
        }
    }
    out.flush().map_err(unwritten)?;
    drop(out);
    draft.persist(Existing::Replace, true)?;
    Ok(true)
}

/// Returns whether a file begins like a report of this program. The file may be truncated in its first line.
fn has_own_form(path: &Path) -> io::Result<bool> {
    let header = ReportForm::Csv.header().into_bytes();
    let most = u64::try_from(header.len()).unwrap_or(u64::MAX);
    let mut begin = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut begin)?;
    Ok(header.starts_with(&begin))
}

/// Returns the text of each cell in a row of a report; `None` if the row does not belong to a report.
fn texts(row: Row) -> Option<[String; COLUMNS.len()]> {
    let Row { mut cells, is_cut } = row;
    // Spreadsheet programs pad rows with empty cells.
    while cells.len() > COLUMNS.len() && cells.last().is_some_and(Vec::is_empty) {
        cells.pop();
    }
    let texts = cells.into_iter().map(|cell| {
        let text = String::from_utf8(without_formula(cell)).ok()?;
        (!text.contains(['\n', '\r', '\0'])).then_some(text)
    });
    let texts: Vec<String> = texts.collect::<Option<_>>()?;
    texts.try_into().ok().filter(|_| !is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "1,t,=\"\"0141439513\"\",delivered,0,1,ISBN,,b1,,,,12,100";

    fn check(report: &str, expected: Option<&str>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.csv");
        std::fs::write(&path, report).expect("written");
        assert_eq!(
            restore(&path).expect("readable"),
            expected.is_some(),
            "{report:?}"
        );
        let found = std::fs::read_to_string(&path).expect("text");
        assert_eq!(found, expected.unwrap_or(report));
        let files = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(files, 1, "neither lock nor draft");
    }

    #[test]
    fn r_f15_a_report_that_a_spreadsheet_has_saved_is_written_anew() {
        let header = ReportForm::Csv.header();
        let names = header.trim_start_matches('\u{feff}').trim_end();
        let own = format!("{header}1,t,\"=\"\"0141439513\"\"\",delivered,0,1,ISBN,,b1,,,,12,100\n");
        for saved in [
            // Commas and CR LF, with and without a byte order mark.
            format!(
                "\u{feff}{names}\r\n{}\r\n",
                ROW.replace("=\"\"0141439513\"\"", "0141439513")
            ),
            format!(
                "{names}\r\n{}\r\n",
                ROW.replace("=\"\"0141439513\"\"", "\"=\"\"0141439513\"\"\"")
            ),
            // Semicolons, all cells in quotation marks, and more columns than expected.
            format!(
                "{names}\n{}\n",
                ROW.replace("=\"\"0141439513\"\"", "0141439513")
            )
            .replace(',', ";"),
            format!(
                "{names},,\n{},,\n",
                ROW.replace("=\"\"0141439513\"\"", "\"0141439513\"")
            ),
            // A report written by an earlier version.
            format!(
                "{names}\n{}\n",
                ROW.replace("=\"\"0141439513\"\"", "0141439513")
            ),
        ] {
            check(&saved, Some(&own));
        }
        for other in [
            "",
            &header,
            &own,
            &own[..own.len() - 20],
            &header[..30],
            "a,b\n1,2\n",
            &format!("{names}\r\n1,t,x\r\n"),
            &format!("{names}\r\n{}\r\n", ROW.replace('t', "\"a\nb\"")),
            "position\ttarget\n",
        ] {
            check(other, None);
        }
    }
}
