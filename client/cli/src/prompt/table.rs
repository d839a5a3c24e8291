//! The commands of the prompt: those of yaz-client under its names and in its order, then ours.

use super::command::Completes::{
    Commands, Databases, Files, Indexes, Nothing, Settings, Targets, Words,
};
use super::command::{Answer, Completes, Entry, Run, Work};
use super::state::State;
use crate::console::output::Output;

const ON_OFF: Completes = Words(&["on", "off"]);
const SYNTAXES: Completes = Words(&[
    "usmarc", "unimarc", "marc21", "sutrs", "xml", "opac", "grs-1", "summary", "none",
]);
const QUERY_TYPES: Completes = Words(&[
    "auto", "prefix", "rpn", "ccl", "ccl2rpn", "cql", "cql2rpn", "names",
]);
const CHARSETS: Completes = Words(&["utf-8", "marc-8", "iso-8859-1", "iso-5426", "auto", "-"]);

const fn here(
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    examples: &'static [&'static str],
    completes: Completes,
    run: fn(&mut State, &str, &mut Output) -> Answer,
) -> Entry {
    Entry {
        name,
        arguments,
        summary,
        examples,
        completes,
        run: Run::Here(run),
    }
}

const fn there(
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    examples: &'static [&'static str],
    completes: Completes,
    run: for<'a> fn(&'a mut State, &'a str, &'a mut Output) -> Work<'a>,
) -> Entry {
    Entry {
        name,
        arguments,
        summary,
        examples,
        completes,
        run: Run::There(run),
    }
}

/// The commands of yaz-client; a prefix takes the first that begins so.
#[rustfmt::skip]
pub(super) const YAZ: &[Entry] = &[
    there("open", "[TARGET]", "open a session: at a host as YAZ writes it, at a target known by name, by a z39.50s URL, or again where the last one was",
        &["open lib.example:2100/cat+maps", "open ssl:lib.example/cat", "open loc", "open z39.50s://lib.example/cat;rs=sutrs", "open"],
        Targets, |state, text, output| Box::pin(state.open(text.as_bytes(), output))),
    here("quit", "", "close all sessions and leave", &[], Nothing, State::quit),
    there("find", "QUERY", "search for words, or by a query in PQF, CCL or CQL",
        &["find war peace", "find \"war and peace\"", "find ti:war au:tolstoy", "find @attr 1=4 war",
          "find @and @attr 1=4 war @attr 1=1003 tolstoy", "find ccl: ti=war and au=tolstoy",
          "find cql: dc.title=war and dc.creator=tolstoy"],
        Indexes, |state, text, output| Box::pin(state.find(text, output))),
    here("facets", "[FIELD[:COUNT]...|ATTRIBUTES[, ATTRIBUTES]...|none]", "ask for the most frequent terms of fields with the next searches",
        &["facets author subject:5", "facets @attr 1=author @attr 3=5, @attr 1=subject", "facets none"], Words(&["none"]), State::facets),
    there("delete", "[SET...]", "delete result sets, or all of them", &["delete 1 2", "delete"],
        Nothing, |state, text, output| Box::pin(state.delete(text, output))),
    here("base", "[DATABASE...]", "name the databases to search, or show them; + stands for a blank in a name",
        &["base books", "base books serials"], Databases, State::base),
    there("show", "[format] [all|N[+M[+SET]]] or settings",
        "show the next record, record N, or M records from N on; format sets XML out, an element a line; Enter shows the next",
        &["show", "show 3", "show 1+10", "show 1+10+2", "show all", "show format 1", "show settings"],
        Words(&["all", "format", "settings"]), |state, text, output| Box::pin(state.show(text, output))),
    there("scan", "[TERM]", "list the terms of an index from one on; without a term, those that follow",
        &["scan @attr 1=4 war", "scan ti:war", "scan"],
        Indexes, |state, text, output| Box::pin(state.scan(text, output))),
    there("setscan", "SET TERM", "the same, counting in the records of a result set alone", &["setscan 1 @attr 1=4 war"],
        Nothing, |state, text, output| Box::pin(state.set_scan(text, output))),
    here("scanstep", "[N]", "how many terms a scan leaves out between two", &["scanstep 10"], Nothing, State::scan_step),
    here("scanpos", "[N|none]", "where the term is to stand among those of a scan", &["scanpos 5", "scanpos none"],
        Words(&["none"]), State::scan_position),
    here("scansize", "[N]", "how many terms a scan asks for", &["scansize 50"], Nothing, State::scan_size),
    there("sort", "KEY FLAGS...", "sort the result set; flags: a or <, d or >, i, s, ! to stop where there is no value, =VALUE",
        &["sort 1=4 a", "sort 1=31 d 1=4 ai", "sort title <"],
        Nothing, |state, text, output| Box::pin(state.sort(text, output))),
    there("sort+", "KEY FLAGS...", "the same into a result set of its own", &["sort+ 1=4 a"],
        Nothing, |state, text, output| Box::pin(state.sort_into(text, output))),
    here("authentication", "[USER [[GROUP] PASSWORD]|-]",
        "who to be when the next session is opened: nobody, an open string, - for anonymous, or user and password, which is asked for where it is left out at a terminal",
        &["authentication ada", "authentication ada secret", "authentication ada staff secret", "authentication -", "authentication"],
        Nothing, State::authentication),
    here("lslb", "[N]", "from so many hits on, no record comes with a search", &["lslb 100"], Nothing, State::large_set_lower_bound),
    here("ssub", "[N]", "up to so many hits, all records come with a search", &["ssub 5"], Nothing, State::small_set_upper_bound),
    here("mspn", "[N]", "between the two bounds, so many records come with a search", &["mspn 2"], Nothing, State::medium_set_present_number),
    here("status", "", "show the bounds of records that come with a search", &[], Nothing, State::status),
    here("setnames", "[on|off]", "give each result set a name of its own: 1, 2 …; as the server allows unless set",
        &["setnames on", "setnames 0"], ON_OFF, State::set_names),
    there("cancel", "[wait]", "tell the server to stop what is under way, as Ctrl-C does; wait takes up what it answers", &["cancel", "cancel wait"],
        Words(&["wait"]), |state, text, output| Box::pin(state.cancel(text, output))),
    there("cancel_find", "QUERY", "search, and tell the server at once to stop", &["cancel_find @attr 1=4 war"],
        Indexes, |state, text, output| Box::pin(state.cancel_find(text, output))),
    here("format", "[SYNTAX...|none]", "name the record syntax to ask for, several to choose from, or show it",
        &["format usmarc", "format sutrs", "format xml usmarc", "format 1.2.840.10003.5.109.10", "format none"],
        SYNTAXES, State::record_syntax),
    here("schema", "[OID|NAME|URI|none]", "name the schema of records, or show it", &["schema marcxml", "schema none"],
        Nothing, State::schema),
    here("elements", "[NAME|none]", "name the element set to ask for, or show it", &["elements F", "elements B", "elements none"],
        Words(&["F", "B", "none"]), State::elements),
    there("close", "", "close the session and stay at the prompt", &[],
        Nothing, |state, text, output| Box::pin(state.close(text, output))),
    here("querytype", "[TYPE]", "name the language of queries: auto, prefix, ccl, ccl2rpn, cql, cql2rpn or names; or show it",
        &["querytype ccl2rpn", "querytype cql", "querytype auto"], QUERY_TYPES, State::querytype),
    here("refid", "[ID]", "the referenceId that requests bear; without one, they bear none of yours", &["refid r1", "refid"],
        Nothing, State::reference_id),
    there("itemorder", "item N | ill N [DOCUMENT] | xml N DOCUMENT",
        "order record N of the result set: by its place alone, by an ILL-Request made of the record or of one's own, or by an XML document; a document is \"text\", a word or <FILE",
        &["itemorder item 1", "itemorder ill 1", "itemorder ill 1 <request.ber", "itemorder xml 1 <order.xml"],
        Words(&["item", "ill", "xml"]), |state, text, output| Box::pin(state.item_order(text, output))),
    there("update", "insert|replace|delete|update ID|none [DOCUMENT]",
        "change the database by a record: \"text\", a word, <FILE, or the record last shown",
        &["update insert id7 <record.xml", "update delete id7"],
        Words(&["insert", "replace", "delete", "update"]), |state, text, output| Box::pin(state.update(text, output))),
    there("update0", "insert|replace|delete|update ID|none [DOCUMENT]", "the same by the first version of the service",
        &["update0 insert id7 <record.xml"],
        Words(&["insert", "replace", "delete", "update"]), |state, text, output| Box::pin(state.first_update(text, output))),
    there("xmles", "OID DOCUMENT", "send a document to a service that takes XML", &["xmles 1.2.840.10003.9.1000.81.1 <task.xml"],
        Files, |state, text, output| Box::pin(state.xml_service(text, output))),
    here("packagename", "[NAME]", "the name of task packages to come; without one, they have none", &["packagename nightly"],
        Nothing, State::package_name),
    here("proxy", "[HOST|none]", "the Z39.50 proxy that opens sessions for us", &["proxy proxy.example:9000", "proxy none"],
        Words(&["none"]), State::proxy),
    here("charset", "NEGOTIATED [DISPLAY [MARC [QUERY]]]", "name all character sets at once", &["charset utf-8 - auto utf-8"],
        CHARSETS, State::charset),
    here("negcharset", "[NAME[,NAME]... [0|1]|-]", "propose character sets to the next server; 1 for records too",
        &["negcharset utf-8 1", "negcharset -"], CHARSETS, State::negotiated_charset),
    here("displaycharset", "[NAME|auto|-]", "the character set that is written, UTF-8 unless said otherwise", &["displaycharset iso-8859-1", "displaycharset -"],
        CHARSETS, State::display_charset),
    here("marccharset", "[NAME|auto|-]", "the character set that MARC records are in, whatever they say", &["marccharset marc-8"],
        CHARSETS, State::marc_charset),
    here("querycharset", "[NAME|-]", "the character set that terms are sent in", &["querycharset iso-8859-1", "querycharset -"],
        CHARSETS, State::query_charset),
    here("lang", "[CODE|none]", "the language to propose to the next server", &["lang eng"], Nothing, State::language),
    there("source", "FILE", "carry out the commands of a file", &["source daily.z3950"],
        Files, |state, text, output| Box::pin(state.source(text, output))),
    there(".", "FILE", "the same as source", &[". daily.z3950"],
        Files, |state, text, output| Box::pin(state.source(text, output))),
    there("!", "[COMMAND]", "run a command of the shell, or the shell itself", &["! ls *.mrc", "!date"],
        Files, |_, text, output| Box::pin(super::script::shell(text, output))),
    here("set_apdufile", "[FILE|-]", "write every APDU to a file, or standard error; without one, no more", &["set_apdufile apdus.log"],
        Files, State::set_apdufile),
    here("set_berfile", "[FILE|-]", "write the BER values of every APDU to a file, or standard error", &["set_berfile -"],
        Files, State::set_berfile),
    here("set_marcdump", "[FILE]", "append the octets of every record to a file; without one, no more", &["set_marcdump all.mrc"],
        Files, State::set_marcdump),
    here("set_cclfile", "FILE", "read what the qualifiers of CCL mean", &["set_cclfile default.bib"], Files, State::set_cclfile),
    here("set_cqlfile", "FILE", "read what the indexes of CQL mean", &["set_cqlfile pqf.properties"], Files, State::set_cqlfile),
    here("set_auto_reconnect", "[on|off|idle]",
        "open a session anew for find and scan when the server has dropped it: always, never, or where nobody was using it, as it is at first",
        &["set_auto_reconnect on"], Words(&["on", "off", "idle"]), State::set_auto_reconnect),
    here("set_auto_wait", "[on|off]", "wait for the answer to each request, or leave it to wait_response",
        &["set_auto_wait off"], ON_OFF, State::set_auto_wait),
    here("set_otherinfo", "INDEX OID TEXT", "add a text to every request, in one of ten places",
        &["set_otherinfo 0 1.2.840.10003.10.1000.81.3 192.0.2.1"], Nothing, State::set_otherinfo),
    here("list_otherinfo", "[INDEX]", "show what is added to requests", &[], Nothing, State::list_otherinfo),
    here("clear_otherinfo", "[INDEX]", "add nothing to requests", &["clear_otherinfo 0"], Nothing, State::clear_otherinfo),
    here("list_all", "", "show all settings", &[], Nothing, State::list_all),
    there("wait_response", "[COUNT]", "take up the answers to requests that were not waited for, oldest first", &["wait_response", "wait_response 2"],
        Nothing, |state, text, output| Box::pin(state.wait_response(text, output))),
    there("sleep", "SECONDS", "wait", &["sleep 1"], Nothing, |_, text, _| Box::pin(super::script::sleep(text))),
    here("register_oid", "NAME CLASS OID", "give an object identifier a name, for format and schema",
        &["register_oid mine recsyn 1.2.840.10003.5.1000.99.1"], Nothing, State::register_oid),
    here("cclparse", "QUERY", "show what a query in CCL means", &["cclparse ti=war and au=tolstoy"], Nothing, State::ccl_parse),
    here("options", "[NAME...|default]", "the options to offer the next server, or show what this one granted",
        &["options search present namedResultSets", "options default"],
        Words(&["search", "present", "delSet", "scan", "sort", "namedResultSets", "extendedServices", "default"]),
        State::options),
    here("zversion", "[1|2|3]", "the highest version of Z39.50 to offer", &["zversion 2"], Words(&["2", "3"]), State::version),
    there("init", "[TARGET]", "say Init once more in this session, as the settings are now; or open a session elsewhere", &["init"],
        Targets, |state, text, output| Box::pin(state.init_again(text, output))),
    here("help", "[COMMAND]", "list the commands, or explain one; also: queries, prox", &["help find", "help prox"], Commands, State::help),
    // The last one, as yaz-client has it: e is elements.
    here("exit", "", "the same as quit", &[], Nothing, State::quit),
];

/// Commands that yaz-client does not have; they need their full name.
#[rustfmt::skip]
pub(super) const OURS: &[Entry] = &[
    here("set", "[NAME VALUE]", "change a setting by the command of its name, or show all", &["set format usmarc", "set"],
        Settings, State::list_all),
    here("settings", "", "show all settings", &[], Nothing, State::list_all),
    here("history", "[COUNT]", "show the last lines typed", &["history", "history 10"], Nothing, State::show_history),
    here("last", "[COUNT] [full]", "the last APDUs in words; full lists what was in them", &["last", "last 6", "last 2 full"],
        Words(&["full"]), State::last),
    here("sessions", "", "list the sessions that are open", &[], Nothing, State::list_sessions),
    here("use", "NUMBER", "work with another session", &["use 2"], Nothing, State::use_session),
    there("save", "[--force] FILE [all|N[+M[+SET]]]", "write records to a file, in the form that its name ends in: mrc xml jsonl mrk txt; --force replaces one that is there",
        &["save war.mrc all", "save first.xml 1", "save --force war.mrc"], Files, |state, text, output| Box::pin(state.save(text, output))),
    there("makeurl", "[N]", "the z39.50r URL of record N, by its control number", &["makeurl 3"],
        Nothing, |state, text, output| Box::pin(state.make_url(text, output))),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands of yaz-client that people and scripts need, in the order in which a prefix finds them.
    const ORDER: &str = "open quit find facets delete base show scan setscan scanstep scanpos scansize sort sort+ \
        authentication lslb ssub mspn status setnames cancel cancel_find format schema elements close querytype refid \
        itemorder update update0 xmles packagename proxy charset negcharset displaycharset marccharset querycharset lang \
        source . ! set_apdufile set_berfile set_marcdump set_cclfile set_cqlfile set_auto_reconnect set_auto_wait \
        set_otherinfo list_otherinfo clear_otherinfo list_all wait_response sleep register_oid cclparse options zversion \
        init help exit";

    #[test]
    fn the_commands_of_yaz_client_stand_in_their_order() {
        let names: Vec<&str> = YAZ.iter().map(|entry| entry.name).collect();
        let expected: Vec<&str> = ORDER.split_whitespace().collect();
        assert_eq!(names, expected);
    }
}
