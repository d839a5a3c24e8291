//! The layers of each package: a module uses only modules below it.

use std::collections::HashSet;

use crate::source::{Source, product};

/// A package and its modules, one per floor, top to bottom. A name covers the module and everything in it, except
/// submodules that have their own entry.
struct House {
    package: &'static str,
    floors: &'static [&'static str],
}

const HOUSES: &[House] = &[
    House {
        package: "asn1/marc",
        floors: &[
            "stream::mutation",
            "stream::damage",
            "charset::corpus",
            "charset::mutation",
            "mutation",
            "corpus",
            "random",
            "stream::guess",
            "stream",
            "stream::xml",
            "stream::json",
            "stream::lines",
            "stream::marc",
            "stream::window",
            "faults",
            "form",
            "table",
            "marcxml",
            "mrk",
            "marcline",
            "crosswalk::citation",
            "crosswalk",
            "crosswalk::labels",
            "charset::record",
            "charset::choose",
            "charset::label",
            "charset::marc8",
            "charset::iso5426",
            "charset::danmarc",
            "charset::foreign",
            "charset::cluster",
            "charset::combine",
            "charset",
            "charset::problem",
            "charset::references",
            "standard_number",
            "language",
            "iso2709",
            "iso2709::split",
            "iso2709::directory",
            "iso2709::repair",
            "marcjson",
            "remarks",
            "xmltext",
            "record",
            "text",
        ],
    },
    House {
        package: "asn1",
        floors: &[
            "sru::zeerex::read",
            "sru::zeerex::write",
            "sru::zeerex",
            "sru::request::soap",
            "sru::response::read",
            "sru::response::write",
            "sru::response",
            "sru::soap",
            "sru::facets",
            "sru::scan",
            "sru::sort",
            "sru::request::read",
            "sru::request::elements",
            "sru::request::fields",
            "sru::request::encoding",
            "sru::request",
            "sru::diagnostic::bib1",
            "sru::diagnostic::query",
            "sru::diagnostic::conditions",
            "sru::diagnostic",
            "sru::xml::read",
            "sru::xml::write",
            "sru::xml",
            "sru",
            "query::language",
            "query::ccl",
            "query::ccl::token",
            "query::ccl::bib",
            "query::cql::from_rpn",
            "query::cql::to_rpn",
            "query::cql::parse",
            "query::cql::print",
            "query::cql::lexer",
            "query::cql::properties",
            "query::cql",
            "query::names",
            "query::pqf",
            "query::lexer",
            "query",
            "query::explain",
            "query::print",
            "query::sets",
            "query::suggest",
            "concurrency",
            "decoded",
            "es",
            "format",
            "record::opac::show",
            "record::grs1::show",
            "record::holdings",
            "record::write",
            "record::embedded",
            "record::retrieved",
            "record::opac",
            "record::grs1",
            "record::summary",
            "record::explain",
            "record",
            "codec::dump",
            "codec::stream",
            "codec",
            "apdu",
            "describe",
            "apdu::external",
            "codec::value",
            "codec::encoder",
            "codec::frame",
            "bib1",
            "error",
            "spelling",
            "file::growing",
            "file::whole",
            "file::draft",
            "file::lock",
            "file::destination",
            "file::limit",
            "file::stamp",
            "file",
            "input",
            "pem",
            "hex",
            "moment",
            "optional",
            "oid",
            "types",
            "production",
        ],
    },
    House {
        package: "client",
        floors: &[
            "testing",
            "client",
            "open",
            "connection",
            "scan_set",
            "result_set",
            "connection::inner",
            "retrieve",
            "plan",
            "lookup",
            "target::adapt",
            "query",
            "pool",
            "record",
            "protocol::service::explain",
            "protocol::pager",
            "protocol::service::extended",
            "protocol::service::duplicate",
            "protocol::service::sort",
            "protocol::service::scan",
            "protocol::service::delete",
            "protocol::service::present",
            "protocol::service::search",
            "protocol::session",
            "protocol::driver",
            "protocol::session::options",
            "pace",
            "protocol::service::resource",
            "protocol::service::access",
            "protocol::service::init",
            "protocol::service",
            "gopher",
            "transport",
            "transport::proxy",
            "transport::tls",
            "transport::connect",
            "transport::timeouts",
            "error",
            "plan::notice",
            "lookup::identifier",
            "target::profile::list",
            "target::profile",
            "target",
            "url::extract",
            "url::spell",
            "url::resolve",
            "url::locator",
            "url::registry",
            "url::schemes",
            "url::generic",
            "url::gopher",
            "url::z3950",
            "url::authority",
            "url::caution",
            "url::host",
            "url::userinfo",
            "url::encoded",
            "url::common",
            "url::span",
            "url::error",
            "url::octets",
            "url",
            "protocol",
        ],
    },
    House {
        package: "server",
        floors: &[
            "requests",
            "testing",
            "testing::recorder",
            "listener",
            "listener::acceptor",
            "listener::socket",
            "imitate",
            "memory::reload",
            "memory::builder",
            "memory::unsaved",
            "memory::load",
            "memory::eval",
            "memory::scan",
            "memory::sort",
            "memory::attributes",
            "memory::result",
            "memory::snapshot",
            "memory::commit",
            "memory::update",
            "memory::fold",
            "memory::save",
            "memory::journal",
            "memory::catalogue",
            "memory::forms",
            "memory::index",
            "memory::background",
            "memory::turns",
            "memory::fields",
            "memory::docid",
            "memory::profile",
            "memory::hits",
            "memory::words",
            "memory",
            "connection::operations",
            "connection",
            "connection::rooms",
            "connection::stream",
            "connection::tally",
            "transcript::log",
            "transcript::player",
            "transcript",
            "transcript::sameness",
            "transcript::redact",
            "tls",
            "observer",
            "metrics",
            "fault::script",
            "fault::rule",
            "fault::kinds",
            "fault::alter",
            "fault",
            "fault::octets",
            "fault::marc",
            "fault::unsolicited",
            "fault::when",
            "fault::words",
            "session",
            "service",
            "service::extended",
            "service::resource",
            "service::present",
            "service::search",
            "service::records",
            "service::sort",
            "service::scan",
            "service::delete",
            "service::init",
            "service::access",
            "association",
            "target",
            "explain",
            "explain::records",
            "extended",
            "backend",
            "access",
            "offer",
            "budget",
            "limits",
            "headroom",
            "diagnostic",
            "lock",
            "units",
        ],
    },
    House {
        package: "server/cli",
        floors: &[
            "serve",
            "reload",
            "signals",
            "logs",
            "status",
            "notify",
            "manual",
            "fold",
            "load",
            "settings",
            "access_log",
            "words",
            "allocator",
            "available",
            "failure",
            "args",
            "config",
        ],
    },
    House {
        package: "client/cli",
        floors: &[
            "args::help",
            "args::manual",
            "args::leading",
            "args",
            "args::examples",
            "prompt",
            "prompt::terminal",
            "prompt::script",
            "prompt::help",
            "prompt::table",
            "prompt::setters",
            "prompt::logs",
            "prompt::opening",
            "prompt::tasks",
            "prompt::makeurl",
            "prompt::holdings",
            "prompt::save",
            "prompt::titles",
            "prompt::show",
            "prompt::browse",
            "prompt::search",
            "prompt::shared",
            "prompt::waiting",
            "prompt::facets",
            "prompt::state",
            "prompt::questions",
            "prompt::tape",
            "prompt::settings",
            "prompt::query",
            "prompt::command",
            "commands::get",
            "commands::url",
            "commands::gopher",
            "commands::search",
            "commands::lookup",
            "commands::facets",
            "commands::scan",
            "commands::order",
            "commands::update",
            "commands::task",
            "commands::probe",
            "commands::targets",
            "commands::target",
            "commands::plan",
            "commands::query",
            "commands::convert",
            "commands::decode",
            "commands::register",
            "commands::seen",
            "commands::connection",
            "commands::options",
            "commands::fallback",
            "commands",
            "batch::run",
            "batch::progress",
            "batch::destination",
            "batch::resume",
            "batch::later",
            "batch::report",
            "batch::sinks",
            "batch::sync",
            "batch::arguments",
            "batch::inputs",
            "batch::column",
            "batch::utf16",
            "batch",
            "answer",
            "console::logging",
            "console::input",
            "console::pages",
            "console::output",
            "console::report",
            "console::waiting",
            "console::interrupt",
            "console::exit",
            "console",
            "render::other",
            "render::style",
            "render",
            "render::indent",
            "render::terminal",
        ],
    },
];

impl House {
    /// The floor of a module, counted from the top.
    fn floor(&self, module: &[String]) -> Option<usize> {
        let name = module.join("::");
        let mut best: Option<(usize, usize)> = None;
        for (floor, entry) in self.floors.iter().enumerate() {
            let inside = name.strip_prefix(entry);
            let covers = inside.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
            if covers && best.is_none_or(|(length, _)| length < entry.len()) {
                best = Some((entry.len(), floor));
            }
        }
        best.map(|(_, floor)| floor)
    }

    /// A line for each use of a module above, and for each module without a floor.
    fn faults(&self) -> Vec<String> {
        let files = product(self.package);
        assert!(!files.is_empty(), "{} has files", self.package);
        let modules: HashSet<Vec<String>> = files.iter().map(|file| file.module.clone()).collect();
        let mut faults = Vec::new();
        for file in files.iter().filter(|file| !file.module.is_empty()) {
            let Some(floor) = self.floor(&file.module) else {
                faults.push(format!("{} has no floor", file.path.display()));
                continue;
            };
            for used in uses(file) {
                let used = module_of(used, &modules);
                if used.is_empty() {
                    continue;
                }
                match self.floor(&used) {
                    Some(other) if other >= floor => {}
                    _ => faults.push(format!(
                        "{} uses {}, which is above it",
                        file.path.display(),
                        used.join("::")
                    )),
                }
            }
        }
        faults.dedup();
        faults
    }
}

/// The module that a path leads to, without the item in it.
fn module_of(mut path: Vec<String>, modules: &HashSet<Vec<String>>) -> Vec<String> {
    while !path.is_empty() && !modules.contains(&path) {
        path.pop();
    }
    path
}

/// The paths within the package that a file uses, from the crate root.
fn uses(file: &Source) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut rest = file.code.as_str();
    let mut before = None;
    while let Some(next) = rest.chars().next() {
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let start = match word {
            _ if before == Some(':') => None,
            "crate" => Some(Vec::new()),
            "super" => Some(parent(&file.module)),
            _ => None,
        };
        before = Some(next);
        rest = rest.get(length.max(next.len_utf8())..).unwrap_or_default();
        if let Some(start) = start
            && let Some(inside) = rest.strip_prefix("::")
        {
            rest = expand(start, inside, &mut found);
        }
    }
    found
}

fn parent(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}

/// Adds the paths that follow `crate::` or `super::`, one for each name in braces. Returns the rest of the text.
fn expand<'a>(mut path: Vec<String>, text: &'a str, found: &mut Vec<Vec<String>>) -> &'a str {
    let mut rest = text.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            rest = expand(path.clone(), rest, found).trim_start();
            match rest.strip_prefix(',') {
                Some(more) if !more.trim_start().starts_with('}') => rest = more,
                _ => break,
            }
        }
        rest = rest.trim_start_matches([',', ' ', '\n']);
        return rest.strip_prefix('}').unwrap_or(rest);
    }
    let length = rest
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(rest.len());
    match rest.get(..length).unwrap_or_default() {
        "super" => path = parent(&path),
        "self" | "" => {}
        word => path.push(word.to_owned()),
    }
    rest = rest.get(length..).unwrap_or_default();
    match rest.strip_prefix("::") {
        Some(more) => expand(path, more, found),
        None => {
            found.push(path);
            let rest = rest.trim_start();
            match rest.strip_prefix("as ") {
                Some(more) => more.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
                None => rest,
            }
        }
    }
}

#[test]
fn no_module_uses_one_above_it() {
    let faults: Vec<_> = HOUSES.iter().flat_map(House::faults).collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn uses_are_found_in_code() {
    let file = |code: &str| Source {
        module: vec!["a".to_owned(), "b".to_owned()],
        path: "a/b.rs".into(),
        code: crate::source::code(code),
    };
    let named = |code| {
        let paths = uses(&file(code)).into_iter();
        paths.map(|path| path.join("::")).collect::<Vec<_>>()
    };
    for (code, expected) in [
        ("use crate::c::D;", &["c::D"][..]),
        (
            "use crate::{c::{D, e::F as G,}, h};",
            &["c::D", "c::e::F", "h"],
        ),
        ("use super::super::c;", &["c"]),
        ("use super::{c, self};", &["a::c", "a"]),
        ("fn f() -> crate::c::D { super::g() }", &["c::D", "a::g"]),
        (
            "// crate::c\nlet a = \"crate::c\"; let b = r#\"crate::c\"#;",
            &[],
        ),
        (
            "#[cfg(test)]\nmod tests { use crate::c; }\nuse crate::d;",
            &["d"],
        ),
        ("#[cfg(test)]\nuse crate::c;\nuse crate::d;", &["d"]),
        ("let quote = '\"'; use crate::d;", &["d"]),
        (
            "fn f<'a>(a: &'a str, b: char) { b == '\\'' } use crate::d;",
            &["d"],
        ),
    ] {
        assert_eq!(named(code), expected, "{code}");
    }
}
