//! The texts that the program prints on request: manual page, completions, list of faults, settings file.

use clap::CommandFactory;
use clap_mangen::Man;
use z3950_server::fault::kinds;

use crate::args::{AFTERWARDS, Arguments, EXAMPLES};
use crate::config;

/// Returns the text requested by the arguments.
pub(crate) fn text(arguments: &Arguments) -> std::io::Result<Vec<u8>> {
    let mut command = Arguments::command();
    if let Some(shell) = arguments.completions() {
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut command, "z3950d", &mut script);
        return Ok(script);
    }
    if arguments.asks_for_manual() {
        return page();
    }
    if arguments.print_config {
        return Ok(config::template().into_bytes());
    }
    Ok(faults().into_bytes())
}

/// Returns the manual page in roff.
fn page() -> std::io::Result<Vec<u8>> {
    let man = Man::new(Arguments::command());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    page.extend(sections("SH", EXAMPLES).into_bytes());
    man.render_options_section(&mut page)?;
    page.extend(commands()?.into_bytes());
    page.extend(sections("SH", AFTERWARDS).into_bytes());
    page.extend(b".SH SEE ALSO\nz3950(1), yaz\\-client(1)\n");
    man.render_version_section(&mut page)?;
    Ok(ascii(&page).into_bytes())
}

/// Returns one section of the manual page for each command.
fn commands() -> std::io::Result<String> {
    let mut command = Arguments::command();
    command.build();
    let mut page = String::new();
    for own in command.get_subcommands() {
        let name = format!("z3950d {}", own.get_name());
        page.push_str(&format!(".SH {}\n", name.to_uppercase()));
        let man = Man::new(own.clone().bin_name(&name));
        let mut text = Vec::new();
        man.render_description_section(&mut text)?;
        man.render_synopsis_section(&mut text)?;
        man.render_options_section(&mut text)?;
        // The sections of the command's page become subsections, and its description needs no heading.
        let text = String::from_utf8_lossy(&text).replace("\n.SH ", "\n.SS ");
        page.push_str(&text.replacen(".SH DESCRIPTION\n", "", 1));
        if let Some(examples) = own.get_before_help() {
            page.push_str(&sections("SS", &examples.to_string()));
        }
    }
    Ok(page)
}

/// Replaces characters beyond ASCII by roff escapes, because not every roff reads UTF-8.
fn ascii(page: &[u8]) -> String {
    let text = String::from_utf8_lossy(page);
    let characters = text.chars();
    characters
        .map(|character| {
            if character.is_ascii() {
                character.to_string()
            } else {
                format!("\\[u{:04X}]", u32::from(character))
            }
        })
        .collect()
}

/// Converts a part of the help into sections: lines that end with a colon become titles, others are set verbatim.
fn sections(heading: &str, text: &str) -> String {
    let mut page = String::new();
    for section in text.split("\n\n") {
        let (title, lines) = section.split_once(":\n").unwrap_or(("", section));
        page.push_str(&format!(".{heading} {}\n.nf\n", title.to_uppercase()));
        for line in lines.lines() {
            page.push_str(&escaped(line));
            page.push('\n');
        }
        page.push_str(".fi\n");
    }
    page
}

/// Escapes a line so that it does not contain roff commands.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-");
    if line.starts_with(['.', '\'']) {
        format!("\\&{line}")
    } else {
        line
    }
}

/// Returns the list of faults.
fn faults() -> String {
    let mut text = RULES.to_owned();
    for kind in kinds() {
        let arguments = format!("{} {}", kind.name, kind.arguments);
        text.push_str(&format!(
            "  {}\n      {}\n",
            arguments.trim_end(),
            kind.meaning
        ));
    }
    text
}

const RULES: &str = "\
A rule is `on REQUEST CONDITION…: FAULT ARGUMENT…`, such as `on search db=books nth=2: delay 500ms`.
Requests:
  any, init, search, present, delete, scan, sort, access, resource, trigger, report, extended, duplicate, close,
  http, sru, sru search, sru scan, sru explain, sru update
Conditions, all of which have to hold:
  session=N      in session N, counted from 1
  nth=N          the Nth such request of each session
  nth-of-all=N   the Nth such request of all sessions together
  db=NAME        a search of this database, or a request on its result set
  docid=TERM     a search for this term, or a request on its result set; SRU: a query that contains it
  syntax=NAME    a request for records in this syntax
Words with blanks or colons stand in quotation marks.
Faults:
";
