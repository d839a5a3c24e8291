//! Examples for the help of each command and for the manual page. A test creates the files named in the examples, and
//! runs every example; it adds `--demo` if the command connects to a server.

use z3950_help::Examples;

#[rustfmt::skip]
pub(crate) const EXAMPLES: &[Examples] = &[
    ("", &[
        ("See what the URLs of RFC 2056 do, in a minute", "z3950 try"),
        ("Search; --demo uses a built-in catalogue", "z3950 --demo search localhost/books 'ti:pride au:austen'"),
        ("Search a server of SRU", "z3950 --demo search http://localhost/books ti:pride"),
        ("Find a record by its number, or by its URL", "z3950 --demo lookup localhost/books isbn:0-14-143951-3"),
        ("", "z3950 --demo get 'z39.50r://localhost/books?pg1342;esn=f;rs=marc'"),
        ("Open a session and run commands from a pipe", "echo 'find @attr 1=4 war' | z3950 --demo open z39.50s://localhost/books"),
        ("Work offline: show what a URL would send, convert a file", "z3950 plan 'z39.50r://lib.example/cat?id7'"),
        ("", "z3950 convert --format marcxml records.mrc > records.xml"),
    ]),
    ("try", &[
        ("The conversations of a retrieval and of a session; then a prompt, on a terminal", "z3950 try"),
        ("Another record, in brief and as text, by a Present of its own", "z3950 try --strategy present-only 'z39.50r://localhost/books?pg2600;esn=b;rs=sutrs'"),
    ]),
    ("get", &[
        ("A record as lines of text, or as JSON", "z3950 --demo get 'z39.50r://localhost/books?pg1342;esn=f;rs=marc'"),
        ("", "z3950 get --format json 'z39.50r://lib.example:2100/books?pg1342' > record.json"),
        ("Retrieve many URLs into one file, and report on each", "z3950 get --input urls.txt --output found.mrc --report found.tsv"),
        ("Have a gateway ask the server", "z3950 get --gateway http://gateway.example/ 'z39.50r://lib.example/books?pg1342'"),
        ("Try other searches if the server refuses that of RFC 2056", "z3950 get --fallback 'z39.50r://lib.example/books?pg1342'"),
    ]),
    ("open", &[
        ("A prompt; `help` lists its commands", "z3950 --demo open localhost/books"),
        ("Commands from a pipe", "echo 'find @attr 1=4 war' | z3950 open z39.50s://lib.example/books"),
    ]),
    ("search", &[
        ("Words with index names", "z3950 --demo search localhost/books 'ti:pride au:austen'"),
        ("PQF and CQL; records as MARCXML", "z3950 search lib.example/books --format marcxml '@and @attr 1=4 war @attr 1=1003 tolstoy' > war.xml"),
        ("", "z3950 search lib.example/books --lang cql 'dc.title = war sortby date' --count 1"),
        ("A table for a spreadsheet", "z3950 search lib.example/books --format csv --fields 001,245ab,year,856u ti:war > war.csv"),
        ("The number of records, and their most frequent authors", "z3950 search lib.example/books --count 0 --facets author:5 year:1850-1860"),
        ("Where the copies are, and whether they are available", "z3950 search lib.example/books --syntax opac ti:emma"),
        ("A server of SRU, in its own CQL", "z3950 --demo search http://localhost/books --format marcxml --lang cql 'dc.title = war'"),
        ("Search two targets, with JSON output", "z3950 search lib.example/books lib.example/serials --json ti:american"),
    ]),
    ("scan", &[
        ("Titles around a word", "z3950 --demo scan localhost/books ti:war"),
        ("Five authors, starting at a name", "z3950 scan lib.example/books --count 5 '@attr 1=1003 austen'"),
    ]),
    ("explain", &[
        ("Indexes, schemas and limits of a server of SRU", "z3950 --demo explain http://localhost/books"),
        ("The databases of a server of Z39.50, and what one of them offers", "z3950 --demo explain localhost"),
        ("", "z3950 --demo explain localhost/books"),
    ]),
    ("lookup", &[
        ("By ISBN, or by a number of unknown type", "z3950 --demo lookup localhost/books isbn:0-14-143951-3"),
        ("", "z3950 lookup lib.example/books 0141439513 --format brief"),
        ("The numbers of a column of a table", "z3950 lookup lib.example/books --input books.csv --column isbn --output books.mrc"),
        ("A file of numbers; --resume continues an interrupted run", "z3950 lookup lib.example/books --input ids.txt --jobs 4 --output found.mrc --report found.tsv"),
        ("Records without a number by title, author and year", "z3950 lookup lib.example/books --input early.mrc --by-title --output copies.mrc --report copies.tsv"),
        ("Copy cataloguing: the best record for each record of a file, from the first target that has one", "z3950 lookup --target lib.example/serials --target lib.example/books --input old.mrc --best --output better.mrc --report better.tsv"),
        ("The same with the local fields of each old record in the new one", "z3950 lookup lib.example/books --input old.mrc --keep 001,852,9XX --output kept.mrc"),
    ]),
    ("update", &[
        ("Add the records of a file", "z3950 --demo update localhost/books insert new.mrc"),
        ("Replace records, identified by their control numbers", "z3950 update lib.example/books replace --id-from-001 held.mrc"),
        ("Say what would be sent, and send nothing", "z3950 update lib.example/books replace --id-from-001 --dry-run held.mrc"),
        ("Delete one", "z3950 update lib.example/books delete --id pg1342"),
    ]),
    ("order", &[
        ("Order the only record that a search finds", "z3950 --demo order localhost/books '@attr 1=12 pg1342'"),
        ("Request a loan of the second of several, with an ILL-Request", "z3950 order lib.example/books --ill --item 2 --contact-email me@lib.example ti:war"),
    ]),
    ("probe", &[
        ("Run all tests, with a word that is in the records", "z3950 --demo probe --term emma localhost/books"),
        ("Judge a server by the standard; the exit code is 8 if it violates it", "z3950 probe --conformance --report judged.xml lib.example/books"),
        ("Only what is about Scan, with the octets", "z3950 probe --conformance --only scan. --octets lib.example/books"),
    ]),
    ("targets list", &[
        ("All names", "z3950 targets list"),
        ("Those that have a word in their name, host or title", "z3950 targets list congress"),
    ]),
    ("targets show", &[
        ("", "z3950 targets show loc"),
        ("", "z3950 targets show --json loc"),
    ]),
    ("targets add", &[
        ("", "z3950 targets add mylib lib.example:2100/books --syntax marc21 --title 'My library'"),
        ("What a server of SRU says about itself", "z3950 targets add books --from http://lib.example/books"),
        ("Connect first, and add only what answers", "z3950 targets add other lib.example:2100/books --check"),
    ]),
    ("targets remove", &[("", "z3950 targets remove oldlib")]),
    ("targets check", &[("", "z3950 targets check lib.example/books lib.example/serials")]),
    ("targets path", &[("", "z3950 targets path")]),
    ("plan", &[
        ("", "z3950 plan 'z39.50r://lib.example/cat?id7;esn=f;rs=marc'"),
        ("Include the octets of each request", "z3950 plan --octets 'z39.50r://lib.example/cat?id7'"),
    ]),
    ("decode", &[
        ("Octets, raw or as hexadecimal digits", "z3950 decode capture.hex"),
        ("What z3950d --transcript wrote", "z3950 decode said.jsonl"),
        ("Packets, extracted with tshark", "tshark -r said.pcap -Y 'tcp.port == 210 && tcp.len > 0' -T fields -e tcp.payload | z3950 decode -"),
    ]),
    ("convert", &[
        ("", "z3950 convert --format marcxml records.mrc > records.xml"),
        ("Write MARC-8, 100 records per file", "z3950 convert --format marc --to-charset marc-8 --split 100 --output part-{}.mrc records.mrc"),
        ("A table of titles and links, each record once", "z3950 convert --format csv --fields 001,title,author,856u --dedupe 001 records.mrc > records.csv"),
        ("A table as MARC; its headings say where its columns go", "z3950 convert --format mrk books.csv"),
        ("Records with a word in their title, without local fields, in the order of titles", "z3950 convert --format mrk --select title:war --delete 9XX --sort title records.mrc"),
        ("Count which fields the records have", "z3950 convert --stats records.mrc"),
        ("List the faults of each record; the exit code is 8 if there are any", "z3950 convert --check records.mrc"),
    ]),
    ("url parse", &[
        ("", "z3950 url parse 'z39.50r://lib.example/cat?id7;esn=f;rs=marc'"),
        ("", "z3950 url parse --json ftp://lib.example/pub/records.mrc"),
    ]),
    ("url canon", &[("", "z3950 url canon 'URL:Z39.50R://LIB.example:210/cat?id%37'")]),
    ("url compare", &[("Are they the same locator? The exit code is 0 or 3", "z3950 url compare 'z39.50r://lib.example/cat?id7' 'Z39.50R://LIB.example:210/cat?id%37'")]),
    ("url build", &[("", "z3950 url build --kind retrieval --host lib.example --database cat --docid 'id 7' --syntax marc")]),
    ("url resolve", &[("", "z3950 url resolve http://lib.example/a/b ../c")]),
    ("url check", &[
        ("", "z3950 url check --input urls.txt"),
        ("Also whether there is a record", "z3950 url check --follow 'z39.50r://lib.example/books?pg1342'"),
    ]),
    ("url extract", &[
        ("", "z3950 url extract page.html"),
        ("The links of records", "z3950 url extract records.mrc"),
    ]),
    ("url wrap", &[("", "z3950 url wrap 'z39.50r://lib.example/cat?id7'")]),
    ("query parse", &[("", "z3950 query parse '@and @attr 1=4 war @attr 1=1003 tolstoy'")]),
    ("query to-pqf", &[("", "z3950 query to-pqf --lang cql 'dc.title = war and dc.creator = tolstoy'")]),
    ("query to-cql", &[("", "z3950 query to-cql '@and @attr 1=4 war @attr 1=1003 tolstoy'")]),
    ("query to-ccl", &[("", "z3950 query to-ccl '@and @attr 1=4 war @attr 1=1003 tolstoy'")]),
    ("query indexes", &[("", "z3950 query indexes")]),
    ("query explain", &[
        ("", "z3950 query explain '@and @attr 1=4 war @attr 1=1003 tolstoy'"),
        ("", "z3950 query explain --lang ccl 'ti=war and au=tolstoy'"),
    ]),
    ("register", &[
        ("What would be written", "z3950 register --print"),
        ("", "z3950 register"),
    ]),
    ("unregister", &[("", "z3950 unregister")]),
    ("completions", &[("", "z3950 completions bash > z3950.bash")]),
    ("man", &[
        ("", "z3950 man search > z3950-search.1"),
        ("All pages", "z3950 man --output pages"),
    ]),
];

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;
    use crate::args::manual::PROGRAM;

    /// Collects the names of all commands that have no subcommands.
    fn commands(command: &clap::Command, path: &str, all: &mut Vec<String>) {
        for subcommand in command.get_subcommands() {
            let name = subcommand.get_name();
            let path = format!("{path} {name}").trim().to_owned();
            if subcommand.has_subcommands() {
                commands(subcommand, &path, all)
            } else {
                all.push(path)
            }
        }
    }

    #[test]
    fn audit_d13_every_command_has_examples_and_no_other() {
        let mut all = vec![String::new()];
        commands(&Cli::command(), "", &mut all);
        for name in &all {
            assert!(!PROGRAM.examples(name).is_empty(), "{name} has an example");
            for (_, line) in PROGRAM.examples(name) {
                let is_named = name.split(' ').all(|word| line.contains(word));
                assert!(is_named && line.contains("z3950"), "{line}");
            }
        }
        for (name, _) in EXAMPLES {
            assert!(all.iter().any(|known| known == name), "{name} is a command");
        }
    }
}
