//! The table of the prompt's commands: the commands of yaz-client, with the same names and in the same order, followed
//! by additional commands.

use std::future::Future;
use std::pin::Pin;

use z3950::target::redacted;
use z3950_asn1::apdu::ReferenceId;
use z3950_asn1::query::nearest;

use self::Completes::{Commands, Databases, Files, Indexes, Nothing, Settings, Targets, Words};
use self::Handler::{Do, Here, Set, There};
use super::command::{CommandResult, Refusal, number, split};
use super::setters::{bound, charset, columns, element_set, put, query_type, unless_none, version};
use super::settings::{Reconnects, flag};
use super::shared::Positionals;
use super::state::Prompt;
use crate::commands::lookup::LookupHere;
use crate::commands::query::Tables;
use crate::commands::search::SearchHere;
use crate::commands::target::Service;
use crate::commands::{explain, order, scan, update};
use crate::console::output::Output;

/// The future of a running command.
pub(super) type CommandFuture<'a> = Pin<Box<dyn Future<Output = CommandResult> + 'a>>;

/// The function that runs a command. It takes the state of the prompt, the arguments as typed, and in most cases the
/// output.
pub(super) enum Handler {
    /// A function that changes the setting with the command's name. Without a value, the setting is shown.
    Set(fn(&mut Prompt, &str) -> Result<(), Refusal>),
    /// A function that changes something without printing anything.
    Do(fn(&mut Prompt, &str) -> Result<(), Refusal>),
    /// A function that never waits for a server.
    Here(fn(&mut Prompt, &str, &mut Output) -> CommandResult),
    /// A function that may wait for a server.
    There(for<'a> fn(&'a mut Prompt, &'a str, &'a mut Output) -> CommandFuture<'a>),
}

/// The kind of words that the Tab key completes after the name of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completes {
    Nothing,
    Commands,
    Databases,
    Files,
    /// The index names for queries, each with a colon.
    Indexes,
    Settings,
    /// The names of profiles and open targets.
    Targets,
    /// One of these words.
    Words(&'static [&'static str]),
}

/// An entry in the table of commands.
pub(super) struct CommandEntry {
    pub(super) name: &'static str,
    pub(super) arguments: &'static str,
    pub(super) summary: &'static str,
    pub(super) examples: &'static [&'static str],
    pub(super) completes: Completes,
    pub(super) run: Handler,
}

impl CommandEntry {
    /// Returns the usage of the command, such as `show [N[+M]]`.
    pub(super) fn usage(&self) -> String {
        match self.arguments {
            "" => self.name.to_owned(),
            arguments => format!("{} {arguments}", self.name),
        }
    }

    /// Returns the usage, summary and examples, each on its own line.
    pub(super) fn help(&self) -> String {
        let mut lines = vec![self.usage(), format!("  {}", self.summary)];
        let examples = self.examples.iter();
        lines.extend(examples.map(|example| format!("  e.g. {example}")));
        lines.join("\n")
    }
}

/// Returns all commands of the prompt.
pub(super) fn all() -> impl Iterator<Item = &'static CommandEntry> {
    YAZ.iter().chain(OURS)
}

/// Returns the command with this name, or the first command with this prefix. A prefix is compared with `next`, `more`
/// and `list` first, because users expect these, then with the commands of yaz-client, and then with the most used
/// additional commands. All other commands match only by their complete names.
pub(super) fn entry(name: &str) -> Option<&'static CommandEntry> {
    let lower = name.to_ascii_lowercase();
    let is_meant = |entry: &&CommandEntry| entry.name.starts_with(&lower);
    let ours = |names: &'static [&str]| {
        let ours = OURS.iter().filter(|entry| names.contains(&entry.name));
        ours.filter(is_meant)
    };
    all()
        .find(|entry| entry.name == lower)
        .or_else(|| ours(&["next", "more", "list"]).next())
        .or_else(|| YAZ.iter().find(is_meant))
        .or_else(|| ours(&["titles", "lookup", "holdings", "save", "search"]).next())
}

/// Returns an error message if the command was abbreviated, but must be typed in full because it deletes what cannot be
/// restored.
pub(super) fn refuse_short(
    typed: &str,
    entry: &CommandEntry,
    arguments: &str,
) -> Option<&'static str> {
    let is_short = !typed.eq_ignore_ascii_case(entry.name);
    let deletes_all = entry.name == "delete" && arguments.is_empty();
    (is_short && deletes_all).then_some(
        "delete without names deletes all result sets; type the whole word if that is meant",
    )
}

/// Returns the error message for an unknown command. It suggests a similar name among the commands and `others`.
pub(super) fn unknown(name: &str, others: impl Iterator<Item = &'static str>) -> String {
    let names = all().map(|entry| entry.name).chain(others);
    let hint = match nearest(name, names) {
        Some(nearest) => format!("; did you mean {nearest}?"),
        None => "; help lists them".to_owned(),
    };
    format!("unknown command {name}{hint}")
}

/// Returns whether a line may contain a password, in a target or in the value of a setting.
pub(super) fn is_secret(line: &str) -> bool {
    let Some((name, arguments)) = split(line) else {
        return false;
    };
    let Some(entry) = entry(name) else {
        // An unknown name may be a misspelt command, and its arguments may contain a password.
        return redacted(line) != line || redacted(arguments) != arguments;
    };
    match entry.name {
        "authentication" => true,
        // A leading `@`, as in `@:2100`, means this machine; any other `@` follows a user name.
        "open" | "init" | "proxy" => arguments.find('@').is_some_and(|at| at > 0),
        "set" | "settings" | "list_all" => is_secret(arguments),
        _ => false,
    }
}

const ON_OFF: Completes = Words(&["on", "off"]);
const FORMATS: Completes = Words(&[
    "text",
    "line",
    "brief",
    "mrk",
    "json",
    "csv",
    "tsv",
    "spreadsheet",
    "marcxml",
    "marcxchange",
    "dc",
    "raw",
    "usmarc",
    "unimarc",
    "marc21",
    "sutrs",
    "xml",
    "opac",
    "grs-1",
    "summary",
    "none",
]);
const QUERY_TYPES: Completes = Words(&[
    "auto", "prefix", "rpn", "pqf", "ccl", "ccl2rpn", "cql", "cql2rpn", "names",
]);
const CHARSETS: Completes = Words(&["utf-8", "marc-8", "iso-8859-1", "iso-5426", "auto", "-"]);

const fn row(
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    examples: &'static [&'static str],
    completes: Completes,
    run: Handler,
) -> CommandEntry {
    CommandEntry {
        name,
        arguments,
        summary,
        examples,
        completes,
        run,
    }
}

/// The commands of yaz-client. A prefix selects the first command that begins with it.
#[rustfmt::skip]
const YAZ: &[CommandEntry] = &[
    row("open", "[TARGET]", "open a session with a host (as in yaz-client), a target profile or a z39.50s URL; without one, with the last target again",
        &["open lib.example:2100/cat+maps", "open ssl:lib.example/cat", "open loc", "open z39.50s://lib.example/cat;rs=sutrs", "open"],
        Targets, There(|state, text, output| Box::pin(state.open(text.as_bytes(), output)))),
    row("quit", "", "close all sessions and leave", &[], Nothing, Do(Prompt::quit)),
    row("find", "QUERY", "search for words, or by a query in PQF, CCL or CQL",
        &["find war peace", "find \"war and peace\"", "find ti:war au:tolstoy", "find @attr 1=4 war",
          "find @and @attr 1=4 war @attr 1=1003 tolstoy", "find ccl: ti=war and au=tolstoy",
          "find cql: dc.title=war and dc.creator=tolstoy"],
        Indexes, There(|state, text, output| Box::pin(state.find(text, output)))),
    row("facets", "[FIELD[:COUNT]...|ATTRIBUTES[, ATTRIBUTES]...|none]", "request the most frequent terms of fields with each search; none turns this off",
        &["facets author subject:5", "facets @attr 1=author @attr 3=5, @attr 1=subject", "facets none"], Words(&["none"]), Here(Prompt::facets)),
    row("delete", "[SET...]", "delete the given result sets, or all of them", &["delete 1 2", "delete"],
        Nothing, There(|state, text, output| Box::pin(state.delete(text, output)))),
    row("base", "[DATABASE...]", "set or show the databases to search; write + for a space in a name",
        &["base books", "base books serials"], Databases, Set(Prompt::base)),
    row("show", "[format] [all|N|N-LAST|N+M[+SET]] or settings",
        "show the next record, record N, records N to LAST, or M records from N on (Enter also shows the next record); show format 1 indents XML",
        &["show", "show 3", "show 1-3", "show 1+10", "show 1+10+2", "show all", "show format 1", "show settings"],
        Words(&["all", "format", "settings"]), There(|state, text, output| Box::pin(state.show(text, output)))),
    row("scan", "[OPTIONS] [TERM]", scan::Arguments::SUMMARY,
        &["scan @attr 1=4 war", "scan ti:war", "scan", "scan -n 5 ti:war"],
        Indexes, There(|state, text, output| Box::pin(state.scan(text, output)))),
    row("setscan", "SET TERM", "scan, counting only records in a result set", &["setscan 1 @attr 1=4 war"],
        Nothing, There(|state, text, output| Box::pin(state.set_scan(text, output)))),
    row("scanstep", "[N]", "set or show how many terms scan skips between two listed ones", &["scanstep 10"], Nothing, Set(|state, text| put(&mut state.settings.scan_step, number(text).map(Some)))),
    row("scanpos", "[N|none]", "set or show the position of the given term in the list of scan", &["scanpos 5", "scanpos none"],
        Words(&["none"]), Set(|state, text| put(&mut state.settings.scan_position, unless_none(text, number)))),
    row("scansize", "[N]", "set or show how many terms scan requests", &["scansize 50"], Nothing, Set(Prompt::scan_size)),
    row("sort", "KEY[:desc] or KEY FLAGS...", "sort the result set; flags: a or < ascending, d or > descending, i ignore case, s respect case, ! fail on a missing value, =VALUE replace a missing value",
        &["sort title", "sort date:desc", "sort 1=4 a", "sort 1=31 d 1=4 ai", "sort title <"],
        Nothing, There(|state, text, output| Box::pin(state.sort(text, output)))),
    row("sort+", "KEY[:desc] or KEY FLAGS...", "sort into a new result set", &["sort+ 1=4 a"],
        Nothing, There(|state, text, output| Box::pin(state.sort_into(text, output)))),
    row("authentication", "[USER [[GROUP] PASSWORD]|-]",
        "set the credentials for the next session: a user, group and password, or - for anonymous; without arguments, none. At a terminal, a missing password is prompted for",
        &["authentication ada", "authentication ada secret", "authentication ada staff secret", "authentication -", "authentication"],
        Nothing, Here(Prompt::authentication)),
    row("lslb", "[N]", "set or show the large-set lower bound: with N or more hits, send no records with the search response", &["lslb 100"], Nothing, Set(|state, text| put(&mut state.settings.large_set_lower_bound, bound(text)))),
    row("ssub", "[N]", "set or show the small-set upper bound: with up to N hits, send all records with the search response", &["ssub 5"], Nothing, Set(|state, text| put(&mut state.settings.small_set_upper_bound, bound(text)))),
    row("mspn", "[N]", "set or show the medium-set present number: between the two bounds, send N records with the search response", &["mspn 2"], Nothing, Set(|state, text| put(&mut state.settings.medium_set_present_number, bound(text)))),
    row("status", "", "show the values of lslb, ssub and mspn", &[], Nothing, Here(Prompt::status)),
    row("setnames", "[on|off]", "name result sets 1, 2 …, or use one unnamed set; without a setting, names are used if the server supports them",
        &["setnames on", "setnames 0"], ON_OFF, Here(Prompt::set_names)),
    row("cancel", "[wait]", "cancel the current request, like Ctrl-C; wait waits for the server's response", &["cancel", "cancel wait"],
        Words(&["wait"]), There(|state, text, output| Box::pin(state.cancel(text, output)))),
    row("cancel_find", "QUERY", "search, and cancel the search at once", &["cancel_find @attr 1=4 war"],
        Indexes, There(|state, text, output| Box::pin(state.cancel_find(text, output)))),
    row("format", "[text|brief|mrk|json|csv|tsv|spreadsheet|marcxml|marcxchange|dc|raw] [SYNTAX...|none]", "set or show the format to show records in (text is also called line; fields sets the columns of csv, tsv and spreadsheet), and the record syntax to request: usmarc, unimarc, xml, sutrs, opac, grs-1 … or an object identifier; the server chooses among several",
        &["format brief", "format mrk", "format csv", "format usmarc", "format xml usmarc", "format text opac", "format 1.2.840.10003.5.109.10", "format none", "format"],
        FORMATS, Here(Prompt::format)),
    row("schema", "[OID|NAME|URI|none]", "set or show the schema to request", &["schema marcxml", "schema none"],
        Nothing, Set(Prompt::schema)),
    row("elements", "[NAME|none]", "set or show the element set to request", &["elements F", "elements B", "elements none"],
        Words(&["F", "B", "none"]), Set(|state, text| put(&mut state.settings.element_set, unless_none(text, element_set)))),
    row("close", "", "close the session and stay at the prompt", &[],
        Nothing, There(|state, text, output| Box::pin(state.close(text, output)))),
    row("querytype", "[TYPE]", "set or show the query language: auto, prefix (or pqf), ccl, ccl2rpn, cql, cql2rpn or names",
        &["querytype ccl2rpn", "querytype cql", "querytype auto"], QUERY_TYPES, Set(|state, text| put(&mut state.settings.query_type, query_type(text)))),
    row("refid", "[ID]", "set the referenceId to send with requests, or remove it", &["refid r1", "refid"],
        Nothing, Do(|state, text| put(&mut state.settings.reference_id, Ok((!text.is_empty()).then(|| ReferenceId(text.into())))))),
    row("itemorder", "item N | ill N [DOCUMENT] | xml N DOCUMENT",
        "order record N of the result set: by its position (item), with an ILL-Request built from the record or given (ill), or with an XML document (xml); a DOCUMENT is \"text\", a word or <FILE",
        &["itemorder item 1", "itemorder ill 1", "itemorder ill 1 <request.ber", "itemorder xml 1 <order.xml"],
        Words(&["item", "ill", "xml"]), There(|state, text, output| Box::pin(state.item_order(text, output)))),
    row("update", "insert|replace|delete|update ID|none [DOCUMENT]",
        update::Arguments::SUMMARY,
        &["update insert id7 <record.xml", "update delete id7", "update insert --id-from-001 records.mrc"],
        Words(&["insert", "replace", "delete", "update"]), There(|state, text, output| Box::pin(state.update(text, output)))),
    row("update0", "insert|replace|delete|update ID|none [DOCUMENT]", "update with version 1 of the service",
        &["update0 insert id7 <record.xml"],
        Words(&["insert", "replace", "delete", "update"]), There(|state, text, output| Box::pin(state.first_update(text, output)))),
    row("xmles", "OID DOCUMENT", "send a document to an XML extended service", &["xmles 1.2.840.10003.9.1000.81.1 <task.xml"],
        Files, There(|state, text, output| Box::pin(state.xml_service(text, output)))),
    row("packagename", "[NAME]", "set the name of new task packages, or remove it", &["packagename nightly"],
        Nothing, Do(|state, text| put(&mut state.settings.package_name, Ok((!text.is_empty()).then(|| text.into()))))),
    row("proxy", "[HOST|none]", "set or show the Z39.50 proxy to open sessions through", &["proxy proxy.example:9000", "proxy none"],
        Words(&["none"]), Do(Prompt::proxy)),
    row("charset", "NEGOTIATED [DISPLAY [MARC [QUERY]]]", "set all character sets at once", &["charset utf-8 - auto utf-8"],
        CHARSETS, Here(Prompt::charset)),
    row("negcharset", "[NAME[,NAME]... [0|1]|-]", "propose character sets when opening a session; 1 proposes them for records too",
        &["negcharset utf-8 1", "negcharset -"], CHARSETS, Set(Prompt::negotiated_charset)),
    row("displaycharset", "[NAME|auto|-]", "set or show the character set of the output [default: utf-8]", &["displaycharset iso-8859-1", "displaycharset -"],
        CHARSETS, Here(Prompt::display_charset)),
    row("marccharset", "[NAME|auto|-]", "set or show the character set of MARC records, whatever they declare", &["marccharset marc-8"],
        CHARSETS, Set(|state, text| put(&mut state.settings.marc_charset, charset(text)))),
    row("querycharset", "[NAME|-]", "set or show the character set to send terms in", &["querycharset iso-8859-1", "querycharset -"],
        CHARSETS, Set(|state, text| put(&mut state.settings.query_charset, charset(text)))),
    row("lang", "[CODE|none]", "set or show the language to propose when opening a session", &["lang eng"], Nothing, Set(|state, text| put(&mut state.settings.language, unless_none(text, |code| Ok(code.to_owned()))))),
    row("source", "FILE", "run the commands in a file", &["source daily.z3950"],
        Files, There(|state, text, output| Box::pin(state.source(text, output)))),
    row(".", "FILE", "same as source", &[". daily.z3950"],
        Files, There(|state, text, output| Box::pin(state.source(text, output)))),
    row("!", "[COMMAND]", "run a shell command, or a shell", &["! ls *.mrc", "!date"],
        Files, There(|_, text, output| Box::pin(super::waiting::shell(text, output)))),
    row("set_apdufile", "[FILE|-]", "log every APDU to a file, or standard error with -; without an argument, stop", &["set_apdufile apdus.log"],
        Files, Do(|state, path| state.log_to(path, |recorded| &mut recorded.apdu_file))),
    row("set_berfile", "[FILE|-]", "log the BER values of every APDU to a file, or standard error with -; without an argument, stop", &["set_berfile -"],
        Files, Do(|state, path| state.log_to(path, |recorded| &mut recorded.ber_file))),
    row("set_marcdump", "[FILE]", "append every retrieved record, unchanged, to a file; without an argument, stop", &["set_marcdump all.mrc"],
        Files, Do(Prompt::set_marcdump)),
    row("set_cclfile", "FILE", "load CCL qualifiers from a bib file", &["set_cclfile default.bib"], Files, Do(|state, path| state.read_tables(path, |bib| Tables { bib, ..Tables::default() }))),
    row("set_cqlfile", "FILE", "load CQL indexes from a pqf.properties file", &["set_cqlfile pqf.properties"], Files, Do(|state, path| state.read_tables(path, |properties| Tables { properties, ..Tables::default() }))),
    row("set_auto_reconnect", "[on|off|idle]",
        "reconnect for commands that change nothing, after the server has closed the session: on, always; off, never; idle, only if it was idle (the default)",
        &["set_auto_reconnect on"], Words(&["on", "off", "idle"]), Set(|state, text| put(&mut state.settings.reconnects, Reconnects::by_name(text)))),
    row("set_auto_wait", "[on|off]", "wait for the response to each request, or only in wait_response",
        &["set_auto_wait off"], ON_OFF, Set(|state, text| put(&mut state.settings.auto_wait, flag(text)))),
    row("set_otherinfo", "INDEX OID TEXT", "send a text with every request, as OtherInformation; INDEX is 0 to 9",
        &["set_otherinfo 0 1.2.840.10003.10.1000.81.3 192.0.2.1"], Nothing, Do(Prompt::set_otherinfo)),
    row("list_otherinfo", "[INDEX]", "show the texts of set_otherinfo", &[], Nothing, Here(Prompt::list_otherinfo)),
    row("clear_otherinfo", "[INDEX]", "remove the texts of set_otherinfo, or one of them", &["clear_otherinfo 0"], Nothing, Do(Prompt::clear_otherinfo)),
    row("list_all", "", "show all settings", &[], Nothing, Here(Prompt::list_all)),
    row("wait_response", "[COUNT]", "wait for the response to the oldest pending request, or for so many", &["wait_response", "wait_response 2"],
        Nothing, There(|state, text, output| Box::pin(state.wait_response(text, output)))),
    row("sleep", "SECONDS", "wait for some seconds", &["sleep 1"], Nothing, There(|_, text, output| Box::pin(super::waiting::sleep(text, output)))),
    row("register_oid", "NAME CLASS OID", "name an object identifier, for use with format and schema",
        &["register_oid mine recsyn 1.2.840.10003.5.1000.99.1"], Nothing, Do(Prompt::register_oid)),
    row("cclparse", "QUERY", "show a CCL query as a tree", &["cclparse ti=war and au=tolstoy"], Nothing, Here(Prompt::ccl_parse)),
    row("options", "[NAME...|default]", "set the options to propose when opening a session, or show those in effect",
        &["options search present namedResultSets", "options default"],
        Words(&["search", "present", "delSet", "scan", "sort", "namedResultSets", "extendedServices", "default"]),
        Here(Prompt::options)),
    row("zversion", "[1|2|3]", "set or show the highest version of Z39.50 to propose", &["zversion 2"], Words(&["2", "3"]), Set(|state, text| put(&mut state.settings.version, version(text)))),
    row("init", "[TARGET]", "send Init again in this session, with the current settings; with a target, open a session there", &["init"],
        Targets, There(|state, text, output| Box::pin(state.init_again(text, output)))),
    row("help", "[all|COMMAND]", "list the usual commands, or all, or describe one; help queries, help indexes and help prox describe queries", &["help all", "help find", "help indexes"], Commands, There(|state, text, output| Box::pin(state.help(text, output)))),
    // This entry is last, as in yaz-client, so that `e` means `elements`.
    row("exit", "", "same as quit", &[], Nothing, Do(Prompt::quit)),
];

/// Commands that yaz-client does not have. Most match only by their complete names.
#[rustfmt::skip]
const OURS: &[CommandEntry] = &[
    row("search", "[OPTIONS] QUERY", SearchHere::SUMMARY,
        &["search war peace", "search --count 3 --sort date:desc ti:war", "search --format brief --facets author @attr 1=4 war"],
        Indexes, There(|state, text, output| Box::pin(state.shared::<SearchHere>(Positionals::Text, text, output)))),
    row("lookup", "[OPTIONS] ID...", LookupHere::SUMMARY,
        &["lookup isbn:0-14-143951-3", "lookup --format brief pg1342 pg2600"],
        Nothing, There(|state, text, output| Box::pin(state.shared::<LookupHere>(Positionals::Each, text, output)))),
    row("order", "[OPTIONS] QUERY", order::Arguments::SUMMARY,
        &["order --ill --contact-name \"Ada Reader\" @attr 1=12 id7"],
        Indexes, There(|state, text, output| Box::pin(state.shared::<order::Arguments>(Positionals::Text, text, output)))),
    row("explain", "[OPTIONS]", explain::Arguments::SUMMARY, &["explain", "explain --xml"],
        Nothing, There(|state, text, output| Box::pin(state.shared::<explain::Arguments>(Positionals::Each, text, output)))),
    row("sru", "[get|post|soap [VERSION]]", "set how servers of SRU are asked, the method and the version 1.1, 1.2 or 2.0, or show how the open one is",
        &["sru post", "sru soap 1.2", "sru"], Words(&["get", "post", "soap", "1.1", "1.2", "2.0"]), There(|state, text, output| Box::pin(state.sru(text, output)))),
    row("set", "[NAME VALUE]", "change a setting, like the command of the same name; without arguments, show all", &["set format usmarc", "set"],
        Settings, Here(Prompt::list_all)),
    row("settings", "", "show all settings", &[], Nothing, Here(Prompt::list_all)),
    row("history", "[COUNT]", "show the last lines entered, which ~/.z3950_history keeps unless Z3950_HISTORY names another file or is empty", &["history", "history 10"], Nothing, Here(Prompt::show_history)),
    row("last", "[COUNT] [full]", "show the last APDUs; full lists their contents", &["last", "last 6", "last 2 full"],
        Words(&["full"]), Here(Prompt::last)),
    row("titles", "[all|N|N-LAST|N+M[+SET]]", "list the titles of the next 10 records, of those from N on, of records N to LAST, or of M records (Enter lists more)",
        &["titles", "titles 11", "titles 1-50", "titles all"], Words(&["all"]), There(|state, text, output| Box::pin(state.titles(text, output)))),
    row("list", "[all|N|N-LAST|N+M[+SET]]", "same as titles", &["list", "list 11"],
        Words(&["all"]), There(|state, text, output| Box::pin(state.titles(text, output)))),
    row("next", "", "show the next record", &["next"], Nothing, There(|state, text, output| Box::pin(state.next_record(text, output)))),
    row("more", "", "go on with the last command, like Enter", &["more"], Nothing, There(|state, text, output| Box::pin(state.more(text, output)))),
    row("holdings", "[N]", "show the copies of record N, or of the last record shown, and whether they are available",
        &["holdings", "holdings 3"], Nothing, There(|state, text, output| Box::pin(state.holdings(text, output)))),
    row("?", "[all|COMMAND]", "same as help", &["?", "? find"], Commands, There(|state, text, output| Box::pin(state.help(text, output)))),
    row("set_titles", "[on|off]", "list the first titles after find, on a terminal; without them, find sends no request for records",
        &["set_titles off"], ON_OFF, Set(|state, text| put(&mut state.settings.lists_titles, flag(text)))),
    row("sessions", "", "list open sessions", &[], Nothing, Here(Prompt::list_sessions)),
    row("use", "NUMBER", "switch to another session", &["use 2"], Nothing, Here(Prompt::use_session)),
    row("save", "[--overwrite] FILE [all|N|N-LAST|N+M[+SET]]", "save records to a file, in the format of its extension: mrc, xml, jsonl, csv, tsv, mrk or txt; --overwrite replaces an existing file",
        &["save war.mrc all", "save first.xml 1", "save some.mrc 2-5", "save --overwrite war.mrc"], Files, There(|state, text, output| Box::pin(state.save(text, output)))),
    row("fields", "[COLUMN,...|none]", "set or show the columns of tables: fields (001), subfields (245ab), positions (008/35-37), or names such as title, author and year",
        &["fields 001,245ab,856u", "fields none"], Words(&["none"]), Set(|state, text| put(&mut state.settings.columns, unless_none(text, columns)))),
    row("makeurl", "[N]", "print a z39.50r URL for record N, from its control number", &["makeurl 3"],
        Nothing, There(|state, text, output| Box::pin(state.make_url(text, output)))),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of yaz-client, in the order in which a prefix is compared with them.
    const YAZ_COMMANDS: &str = "open quit find facets delete base show scan setscan scanstep scanpos scansize sort sort+ \
        authentication lslb ssub mspn status setnames cancel cancel_find format schema elements close querytype refid \
        itemorder update update0 xmles packagename proxy charset negcharset displaycharset marccharset querycharset lang \
        source . ! set_apdufile set_berfile set_marcdump set_cclfile set_cqlfile set_auto_reconnect set_auto_wait \
        set_otherinfo list_otherinfo clear_otherinfo list_all wait_response sleep register_oid cclparse options zversion \
        init help exit";

    #[test]
    fn the_commands_of_yaz_client_keep_their_order() {
        let names: Vec<&str> = YAZ.iter().map(|entry| entry.name).collect();
        let expected: Vec<&str> = YAZ_COMMANDS.split_whitespace().collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_prefix_takes_the_first_command_of_yaz_client() {
        for (name, found) in [
            ("open", Some("open")),
            ("EXIT", Some("exit")),
            ("e", Some("elements")),
            ("ex", Some("exit")),
            ("f", Some("find")),
            ("fo", Some("format")),
            ("s", Some("show")),
            ("sc", Some("scan")),
            ("so", Some("sort")),
            ("sort+", Some("sort+")),
            ("au", Some("authentication")),
            ("el", Some("elements")),
            ("q", Some("quit")),
            ("set", Some("set")),
            ("sets", Some("setscan")),
            ("save", Some("save")),
            ("sav", Some("save")),
            ("t", Some("titles")),
            ("lo", Some("lookup")),
            ("l", Some("list")),
            ("lis", Some("list")),
            ("d", Some("delete")),
            ("n", Some("next")),
            ("neg", Some("negcharset")),
            ("mo", Some("more")),
            ("msp", Some("mspn")),
            ("list", Some("list")),
            ("list_o", Some("list_otherinfo")),
            ("?", Some("?")),
            ("us", None),
            ("h", Some("help")),
            ("c", Some("cancel")),
            ("cancel_f", Some("cancel_find")),
            ("set_auto", Some("set_auto_reconnect")),
            ("set_auto_w", Some("set_auto_wait")),
            ("w", Some("wait_response")),
            ("i", Some("itemorder")),
            ("ini", Some("init")),
            (".", Some(".")),
            ("!", Some("!")),
            ("fund", None),
        ] {
            assert_eq!(entry(name).map(|entry| entry.name), found, "{name}");
        }
    }

    #[test]
    fn audit_r_f_all_result_sets_are_deleted_by_the_whole_word() {
        for (line, is_refused) in [
            ("delete", false),
            ("DELETE", false),
            ("d", true),
            ("Del", true),
            ("d 1", false),
            ("quit", false),
            ("q", false),
        ] {
            let (typed, arguments) = split(line).expect("a command");
            let found = entry(typed).expect(line);
            let refused = refuse_short(typed, found, arguments);
            assert_eq!(refused.is_some(), is_refused, "{line}");
        }
    }

    #[test]
    fn lines_with_passwords_are_recognized() {
        for (line, is_it) in [
            ("authentication ada secret", true),
            ("au ada secret", true),
            ("set authentication ada secret", true),
            ("open z39.50s://ada:secret@lib.example/", true),
            ("open connect:ada:secret@proxy.example,lib.example", true),
            ("open @:2100", false),
            ("find a secret", false),
            ("opne ada:secret@lib.example/", true),
            ("opne lib.example/", false),
            ("", false),
        ] {
            assert_eq!(is_secret(line), is_it, "{line}");
        }
    }

    #[test]
    fn every_command_is_listed_once_with_its_own_examples() {
        let mut names: Vec<&str> = all().map(|entry| entry.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().count());
        for command in all() {
            for example in command.examples {
                let name = split(example).expect(example).0;
                let found = entry(name).expect(example);
                assert_eq!(found.name, command.name, "{example}");
            }
        }
    }
}
