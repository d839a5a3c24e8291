//! `z3950 url extract`: lists the URLs in text, MARC records or HTML pages (RFC 1738 Appendix).

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use z3950::url::extract::{
    self, Extraction, FoundUrl, SkipReason, WrapperFault, in_html, in_record,
};
use z3950::url::{ResolveMode, UrlError, generic, resolve};
use z3950_marc::stream::{GUESS_OCTETS, InputForm, RecordReader};

use super::Redaction;
use crate::answer::Envelope;
use crate::console::exit::Exit;
use crate::console::input::{STANDARD, open};
use crate::console::output::{Failure, FewMessages, Output, Words};
use crate::render;

/// The maximum size of a text file or page, in octets. Record files can be any size.
const MAX_TEXT: u64 = 256 * 1024 * 1024;

/// The keys for the position of a URL in a page or a record. They are null for other files.
const PLACES: [&str; 7] = [
    "element",
    "attribute",
    "record",
    "record_offset",
    "field",
    "occurrence",
    "subfield",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The file to read [default: standard input].
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The type of the file, by default detected from its name and content.
    #[arg(long, value_enum, value_name = "WHAT")]
    from: Option<ExtractFrom>,

    /// Find only URLs in <URL: and >; by default, URLs in running text are guessed too, and marked as guesses.
    #[arg(long)]
    wrapped: bool,

    /// The base URL for relative links in a page or in records; a <base> element in the page takes precedence.
    #[arg(long, value_name = "URL", value_parser = base)]
    base: Option<String>,

    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    showing: Redaction,
}

/// Parses the value of `--base`, which must be an absolute URL.
fn base(text: &str) -> Result<String, String> {
    match resolve(text, "", ResolveMode::default()) {
        Ok(base) => Ok(base),
        Err(error) => Err(error.to_string()),
    }
}

/// What URLs are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExtractFrom {
    /// Text of any kind, such as e-mail.
    Text,
    /// MARC records in any format: 856 $u, and 024 and 035 if they hold URLs.
    Marc,
    /// An HTML page: attributes such as href and src, and its text.
    Html,
}

pub(crate) fn run(arguments: &Arguments, output: &mut Output) -> Result<Exit, Failure> {
    let path = arguments.file.as_deref().unwrap_or(Path::new(STANDARD));
    let (name, mut input) = open(path, false)?;
    let fault = |error: io::Error| Failure::input(&name, &error);
    let mut head = Vec::new();
    let limit = u64::try_from(GUESS_OCTETS).unwrap_or(u64::MAX);
    input
        .by_ref()
        .take(limit)
        .read_to_end(&mut head)
        .map_err(fault)?;
    let source = arguments.from.unwrap_or_else(|| guess(path, &head));
    let input = Cursor::new(head).chain(input);
    let mut listing = Listing {
        json: arguments.json,
        redact: arguments.showing.redact,
        passwords: 0,
        output,
    };
    let unused = match source {
        ExtractFrom::Text if arguments.base.is_some() => {
            Some("--base: a text has no relative links")
        }
        ExtractFrom::Marc | ExtractFrom::Html if arguments.wrapped => Some(
            "--wrapped: only a text has URLs in <URL: and >; --from text reads the file as one",
        ),
        _ => None,
    };
    if let Some(words) = unused {
        return Err(Failure::Usage(words.to_owned()));
    }
    if source == ExtractFrom::Marc {
        listing.records(input, path, arguments.base.as_deref(), fault)?;
        return Ok(listing.end());
    }
    let mut text = Vec::new();
    input
        .take(MAX_TEXT + 1)
        .read_to_end(&mut text)
        .map_err(fault)?;
    if u64::try_from(text.len()).is_ok_and(|length| length > MAX_TEXT) {
        return Err(fault(io::Error::other(format!(
            "more than {MAX_TEXT} octets"
        ))));
    }
    match source {
        ExtractFrom::Html => listing.page(&text, arguments.base.as_deref())?,
        _ if arguments.wrapped => listing.text(extract::extract(&text))?,
        _ => listing.text(extract::scan(&text))?,
    }
    Ok(listing.end())
}

/// Guesses the type of a file from its name, or from its beginning. It is assumed to contain records only if they are
/// clearly recognizable, because text may begin with any characters.
fn guess(path: &Path, head: &[u8]) -> ExtractFrom {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    match extension.to_ascii_lowercase().as_str() {
        "html" | "htm" | "xhtml" => return ExtractFrom::Html,
        "txt" | "eml" | "text" => return ExtractFrom::Text,
        extension if InputForm::by_extension(extension).is_some() => return ExtractFrom::Marc,
        _ => {}
    }
    let begin = head.trim_ascii_start().to_ascii_lowercase();
    let has = |word: &[u8]| begin.windows(word.len()).any(|window| window == word);
    match InputForm::guess(head) {
        _ if begin.starts_with(b"<!doctype html") || begin.starts_with(b"<html") => {
            ExtractFrom::Html
        }
        Some(InputForm::Marc | InputForm::Line) => ExtractFrom::Marc,
        Some(InputForm::MarcXml) if has(b"<record") || has(b"<collection") => ExtractFrom::Marc,
        Some(InputForm::Json) if has(b"\"leader\"") => ExtractFrom::Marc,
        Some(InputForm::Mrk) if begin.starts_with(b"=ldr") => ExtractFrom::Marc,
        _ => ExtractFrom::Text,
    }
}

struct Listing<'a> {
    json: bool,
    redact: bool,
    /// The number of URLs written with their passwords.
    passwords: usize,
    output: &'a mut Output,
}

impl Listing<'_> {
    fn text(&mut self, extraction: Extraction) -> Result<(), Failure> {
        self.faults(&extraction.faults);
        let mut urls = extraction.urls.iter();
        urls.try_for_each(|found| self.found(found, "", json!({})))
    }

    fn faults(&self, faults: &[WrapperFault]) {
        let mut messages = FewMessages::default();
        for WrapperFault { kind, offset, .. } in faults {
            let words = Words::Warning(format!("offset {offset}: {kind}"));
            messages.say(words, self.output);
        }
        messages.end(self.output);
    }

    /// Warns if passwords were written, and returns the exit code. Must be called after the last URL.
    fn end(self) -> Exit {
        match self.passwords {
            0 => {}
            1 => self
                .output
                .warning("1 URL contains a password; --redact hides it"),
            count => self.output.warning(&format!(
                "{count} URLs contain passwords; --redact hides them"
            )),
        }
        Exit::Delivered
    }

    fn page(&mut self, page: &[u8], base: Option<&str>) -> Result<(), Failure> {
        let found = in_html(page, base);
        self.faults(&found.faults);
        let unresolved = found.unresolved;
        if unresolved > 0 {
            let plural = if unresolved == 1 {
                "link is"
            } else {
                "links are"
            };
            self.output.warning(&format!(
                "{unresolved} relative {plural} skipped: the page has no base URL; give one with --base"
            ));
        }
        found.urls.iter().try_for_each(|url| match &url.attribute {
            Some((element, attribute)) => {
                let place = json!({ "element": element, "attribute": attribute });
                self.found(&url.found, &format!("{element} {attribute}"), place)
            }
            None => self.found(&url.found, "", json!({})),
        })
    }

    fn records(
        &mut self,
        input: impl Read,
        path: &Path,
        base: Option<&str>,
        fault: impl Fn(io::Error) -> Failure,
    ) -> Result<(), Failure> {
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        let fallback = InputForm::by_extension(&extension).unwrap_or(InputForm::Marc);
        let mut messages = FewMessages::default();
        for record in RecordReader::guessing(input, fallback).map_err(&fault)? {
            let record = record.map_err(&fault)?;
            let number = record.number;
            let marc = match record.record {
                Ok(marc) => marc,
                Err(damage) => {
                    let words = Words::Warning(format!("record {number}: {damage}"));
                    messages.say(words, self.output);
                    continue;
                }
            };
            let found = in_record(&marc, base);
            for skipped in &found.skipped {
                let written = render::shown(skipped.written.as_bytes());
                let (tag, code, reason) = (skipped.tag, skipped.code, skipped.reason);
                let remedy = match reason {
                    SkipReason::NoBase => "; give one with --base",
                    _ => "",
                };
                let words = format!(
                    "record {number}, {tag} ${code}: {written} is skipped: {reason}{remedy}"
                );
                messages.say(Words::Warning(words), self.output);
            }
            for url in found.urls {
                let place = json!({
                    "record": number,
                    "record_offset": record.offset,
                    "field": url.tag,
                    "occurrence": url.occurrence,
                    "subfield": url.code.to_string(),
                });
                let words = format!("record {number}, {} ${}", url.tag, url.code);
                self.found(&url.found, &words, place)?;
            }
        }
        messages.end(self.output);
        Ok(())
    }

    /// Writes one URL. With `--json`, writes an object; otherwise writes a line with the start and end offsets, the URL
    /// and remarks, separated by tabs.
    fn found(&mut self, found: &FoundUrl, place: &str, more: Value) -> Result<(), Failure> {
        let (url, range) = (&found.url, &found.range);
        let has_password = generic::redact(url) != *url;
        self.passwords += usize::from(has_password && !self.redact);
        let shown = |url: &String| {
            if self.redact {
                generic::redact(url)
            } else {
                url.clone()
            }
        };
        // Whether the alternate ends at a space, rather than joining a word that was broken at a hyphen.
        let at_blank = found
            .alternates
            .first()
            .and_then(|alternate| url.strip_prefix(alternate.as_str()))
            .is_some_and(|rest| rest.starts_with('%'));
        let fault = found.fault();
        let url = &shown(url);
        let alternates = &found.alternates.iter().map(shown).collect::<Vec<_>>();
        let written = &found
            .written
            .as_ref()
            .map(|written| match (self.redact, has_password) {
                (true, true) => url.clone(),
                _ => written.clone(),
            });
        if self.json {
            let object = json!({
                "url": url,
                "start": range.start,
                "end": range.end,
                "heuristic": found.heuristic,
                "hyphen_break": !alternates.is_empty() && !at_blank,
                "alternates": alternates,
                "mended": written.is_some(),
                "written": written,
                "may_continue": found.may_continue,
                "error": fault.as_ref().map(|fault| fault.kind().name()),
                "offset": fault.as_ref().map(UrlError::offset),
                "message": fault.as_ref().map(ToString::to_string),
            });
            let place = |object: Envelope, key| {
                object.with(key, more.get(key).cloned().unwrap_or_default())
            };
            let object = PLACES.into_iter().fold(Envelope::from(object), place);
            return object.write(self.output);
        }
        let mut remarks: Vec<String> = Vec::new();
        remarks.extend((!place.is_empty()).then(|| place.to_owned()));
        remarks.extend(found.heuristic.then(|| "heuristic".to_owned()));
        if !alternates.is_empty() {
            let what = if at_blank { "blanks" } else { "hyphen break" };
            remarks.push(format!("{what}, or {}", alternates.join(" or ")));
        }
        if let Some(written) = written {
            remarks.push(format!(
                "mended from: {}",
                render::shown(written.as_bytes())
            ));
        }
        if found.may_continue {
            remarks.push("may continue after a mark that ends it here".to_owned());
        }
        remarks.extend(fault.map(|fault| format!("malformed: {fault}")));
        let (start, end) = (range.start, range.end);
        let line = format!("{start}\t{end}\t{url}\t{}", remarks.join("; "));
        self.output.line(line.trim_end_matches('\t'))
    }
}
