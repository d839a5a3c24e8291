//! Checks that no files of a package use each other in a cycle.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::packages::PACKAGES;
use super::{module_of, uses};
use crate::source::{Source, product};

/// A package outside the workspace, which has no layers.
const PYTHON: &str = "client/python";

/// The cycles that are permitted, because they already exist. A cycle that no longer exists must be removed from this list.
const KNOWN: &[(&str, &[&str])] = &[
    // A query contains trees, and an operand in a tree can contain a query.
    ("asn1", &["apdu::query", "apdu::rpn"]),
    // These are the parts of a recursive-descent parser, which call each other.
    (
        "asn1",
        &[
            "query::ccl::parse",
            "query::ccl::relation",
            "query::ccl::term",
        ],
    ),
    // The trait for databases in an engine has a method that is given the pages of a result set, and the pages are read by
    // other methods of the trait.
    ("server/front", &["engine::pages", "engine::search"]),
];

/// The files that each file uses, with the path of one such use. Files are identified by the names of their modules. Uses of
/// submodules through `self` are ignored, so that a module is not in a cycle with its submodules.
struct Graph(BTreeMap<String, BTreeMap<String, String>>);

impl Graph {
    fn of(files: &[Source]) -> Self {
        let modules: HashSet<Vec<String>> = files.iter().map(|file| file.module.clone()).collect();
        let mut graph = BTreeMap::new();
        for file in files.iter().filter(|file| !file.module.is_empty()) {
            let mut used = BTreeMap::new();
            for path in uses(file) {
                let module = module_of(path.clone(), &modules);
                if !module.is_empty() && module != file.module {
                    used.entry(module.join("::")).or_insert(path.join("::"));
                }
            }
            graph.insert(file.module.join("::"), used);
        }
        Self(graph)
    }

    /// Returns the files that a file uses, directly or through other files.
    fn reachable<'a>(&'a self, from: &'a str) -> BTreeSet<&'a str> {
        let mut found = BTreeSet::new();
        let mut open = vec![from];
        while let Some(file) = open.pop() {
            for used in self.0.get(file).into_iter().flat_map(BTreeMap::keys) {
                if found.insert(used.as_str()) {
                    open.push(used);
                }
            }
        }
        found
    }

    /// Returns the sets of files in which each file uses all the others, directly or through other files of the set.
    fn cycles(&self) -> BTreeSet<Vec<&str>> {
        let reachable: BTreeMap<&str, BTreeSet<&str>> = { self.0.keys() }
            .map(|file| (file.as_str(), self.reachable(file)))
            .collect();
        let uses = |file: &str, other: &str| {
            let used = reachable.get(file);
            used.is_some_and(|used| used.contains(other))
        };
        let cycles = reachable.iter().map(|(file, used)| {
            let both_ways = used.iter().filter(|other| uses(other, file));
            both_ways.copied().collect::<Vec<_>>()
        });
        cycles.filter(|cycle| !cycle.is_empty()).collect()
    }

    /// Describes a cycle by its files and, for each file that uses another file of the cycle, one such use.
    fn described(&self, cycle: &[&str]) -> String {
        let mut lines = vec![cycle.join(", ")];
        for file in cycle {
            for (used, path) in self.0.get(*file).into_iter().flatten() {
                if cycle.contains(&used.as_str()) {
                    lines.push(format!("    {file} uses {path}"));
                }
            }
        }
        lines.join("\n")
    }

    /// Returns an error for each cycle that is not known, and for each known cycle that does not exist.
    fn faults(&self, known: &BTreeSet<Vec<&str>>) -> Vec<String> {
        let cycles = self.cycles();
        let new = cycles.difference(known);
        let new = new.map(|cycle| format!("a cycle: {}", self.described(cycle)));
        let gone = known.difference(&cycles);
        let gone = gone.map(|cycle| format!("no longer a cycle: {}", cycle.join(", ")));
        new.chain(gone).collect()
    }
}

#[test]
fn no_files_use_each_other_in_a_cycle() {
    let packages = PACKAGES.iter().map(|package| package.path).chain([PYTHON]);
    let packages: Vec<&str> = packages.collect();
    for (package, _) in KNOWN {
        assert!(packages.contains(package), "{package} is checked");
    }
    let mut faults = Vec::new();
    for package in packages {
        let files = product(package);
        assert!(!files.is_empty(), "{package} has files");
        let known = KNOWN.iter().filter(|(name, _)| *name == package);
        let known = known.map(|(_, cycle)| cycle.to_vec()).collect();
        let of_package = Graph::of(&files).faults(&known);
        faults.extend(of_package.iter().map(|fault| format!("{package}: {fault}")));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_planted_cycle_is_found() {
    let file = |name: &str, code: &str| Source {
        module: name.split("::").map(str::to_owned).collect(),
        path: format!("{name}.rs").into(),
        code: crate::source::code(code),
    };
    let files = [
        file("remote", "mod hits; use self::hits::Hits; use crate::text;"),
        file("remote::hits", "use super::{set::Set, Options, upstream};"),
        file("remote::set", "use super::counts;"),
        file("remote::counts", "fn f(of: &crate::remote::hits::Hits) {}"),
        file(
            "remote::upstream",
            "use super::set::Set; use super::upstream::open;",
        ),
        file(
            "page",
            "use crate::remote::hits::Hits; use crate::text::clean;",
        ),
        file("text", "// crate::page\n#[cfg(test)]\nuse crate::page;"),
    ];
    let graph = Graph::of(&files);
    let cycle = vec![
        "remote::counts",
        "remote::hits",
        "remote::set",
        "remote::upstream",
    ];
    assert_eq!(graph.cycles(), BTreeSet::from([cycle.clone()]));
    let found = "a cycle: remote::counts, remote::hits, remote::set, remote::upstream
    remote::counts uses remote::hits::Hits
    remote::hits uses remote::set::Set
    remote::hits uses remote::upstream
    remote::set uses remote::counts
    remote::upstream uses remote::set::Set";
    assert_eq!(graph.faults(&BTreeSet::new()), [found]);
    let mut known = BTreeSet::from([cycle]);
    assert!(graph.faults(&known).is_empty());
    known.insert(vec!["page", "text"]);
    assert_eq!(graph.faults(&known), ["no longer a cycle: page, text"]);
}
